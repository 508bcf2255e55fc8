package bolt

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fencegate/fence"
)

// latchedError ends the use of a ledger: it is what every call returns from
// the failure on.
type latchedError struct{ cause error }

func (e *latchedError) Error() string {
	return fence.ErrLedgerSuspect.Error() + ": " + e.cause.Error()
}

func (e *latchedError) Unwrap() []error { return []error{fence.ErrLedgerSuspect, e.cause} }

// fail latches the ledger and marks it on disk, so that the next start finds
// out too. The marker is written as well as the failing disk allows.
func (l *Ledger) fail(cause error) error {
	failed := &latchedError{cause}
	if !l.failed.CompareAndSwap(nil, failed) {
		return l.failed.Load()
	}
	if err := markSuspect(l.dir, l.now(), cause); err != nil {
		return fmt.Errorf("%w (and %s was not written: %w)", failed, suspectName, err)
	}
	return failed
}

// markSuspect makes the marker. That it exists is what counts: the text may be
// missing, for example on a full disk.
func markSuspect(dir string, now time.Time, cause error) error {
	f, err := os.OpenFile(filepath.Join(dir, suspectName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(cause.Error(), "\n", " ")
	_, err = fmt.Fprintf(f, "%s %s\n", now.UTC().Format(time.RFC3339), text)
	for _, step := range []func() error{f.Sync, f.Close, func() error { return syncDir(dir) }} {
		if stepErr := step(); err == nil {
			err = stepErr
		}
	}
	return err
}

// checkSuspect refuses a directory with a marker.
func checkSuspect(dir string) error {
	path := filepath.Join(dir, suspectName)
	f, err := os.Open(path)
	if isMissing(err) {
		return nil
	}
	var line string
	if err == nil {
		line, _ = bufio.NewReader(io.LimitReader(f, 1000)).ReadString('\n')
		f.Close()
	}
	return &fence.OpenError{Path: path, Err: fence.ErrLedgerSuspect, Detail: strings.TrimSpace(line),
		Remedy: "what this ledger holds is not certain: see to the disk, then restore a backup of the state directory that was made while fencegate was stopped"}
}

// syncDir makes what was created or renamed in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
