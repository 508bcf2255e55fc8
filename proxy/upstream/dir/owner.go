package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fencegate/fence"
)

const (
	lockName   = "lock"
	ledgerName = "ledger-id"
)

// heldError is the reason when the root is served already. It is
// fence.ErrLedgerHeld, so that callers treat both alike.
type heldError struct{}

func (heldError) Error() string { return "the storage directory is served by another process" }
func (heldError) Unwrap() error { return fence.ErrLedgerHeld }

// lockPoll is how often the lock is tried again; the kernel has no flock with a
// time limit.
const lockPoll = 20 * time.Millisecond

// takeLock makes this Dir the only one that serves the root.
func (d *Dir) takeLock(root string, wait time.Duration) (err error) {
	path := filepath.Join(root, area, lockName)
	if d.lock, err = d.area.keep(lockName); err != nil {
		return err
	}
	err = lockFile(d.lock)
	for end := time.Now().Add(wait); errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(end); err = lockFile(d.lock) {
		time.Sleep(lockPoll)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &fence.OpenError{Path: path, Err: heldError{},
			Remedy: "stop that process (fuser -v shows it), or give this one a directory of its own"}
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// bind remembers durably which ledger guards the root, or compares.
func (d *Dir) bind(root, ledgerID string) error {
	found, err := LedgerID(root)
	if err != nil {
		return err
	}
	if found == ledgerID {
		return nil
	}
	if found == "" {
		return d.writeLedgerID(ledgerID)
	}
	detail := fmt.Sprintf("guarded by ledger %s, opened with %s", found, ledgerID)
	if ledgerID == "" {
		detail = fmt.Sprintf("guarded by ledger %s, opened without any", found)
	}
	return foreign(root, detail)
}

// LedgerID returns the id of the ledger that guards root, "" when none does
// yet or root does not exist. It changes nothing. A *fence.OpenError with
// fence.ErrLedgerForeign means that the record is there but cannot be read as
// one id.
func LedgerID(root string) (string, error) {
	file, err := os.Open(filepath.Join(root, area, ledgerName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, 2*maxLedgerID))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	id := strings.TrimSuffix(string(content), "\n")
	if checkLedgerID(id) != nil {
		return "", foreign(root, "the record is damaged")
	}
	return id, nil
}

func foreign(root, detail string) error {
	return &fence.OpenError{
		Path:   filepath.Join(root, area, ledgerName),
		Err:    fence.ErrLedgerForeign,
		Detail: detail,
		Remedy: "restore the ledger that belongs to this storage; or remove this file to take the storage over, " +
			"if it is intended that the marks in the old ledger no longer hold",
	}
}

const maxLedgerID = 128

// checkLedgerID keeps what is written down one line that can be read back.
func checkLedgerID(id string) error {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return errors.New("a ledger id is visible ASCII")
		}
	}
	if id == "" || len(id) > maxLedgerID {
		return fmt.Errorf("a ledger id is 1 to %d characters", maxLedgerID)
	}
	return nil
}

// writeLedgerID writes the id so that it is there whole, or not at all.
func (d *Dir) writeLedgerID(id string) error {
	const draft = ledgerName + ".new"
	if err := d.area.unlink(draft); err != nil && !notExist(err) {
		return err
	}
	file, err := d.area.create(draft)
	if err != nil {
		return err
	}
	_, err = file.WriteString(id + "\n")
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := d.area.rename(draft, d.area, ledgerName); err != nil {
		return err
	}
	if err := d.area.sync(); err != nil {
		return err
	}
	return d.root.sync() // the staging area itself may be new
}
