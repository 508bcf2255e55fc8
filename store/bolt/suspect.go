package bolt

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
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
	l.state.Lock()
	id := l.meta.ID
	l.state.Unlock()
	if err := markSuspect(l.dir, l.now(), id, l.transaction.Load(), cause); err != nil {
		return fmt.Errorf("%w (and %s was not written: %w)", failed, suspectName, err)
	}
	return failed
}

// markSuspect makes the marker. That it exists is what counts for a start: the
// text may be missing, for example on a full disk. It names the last
// transaction that was acknowledged, by which a repair knows whether a file has
// everything; rows that are not in it must be on disk.
func markSuspect(dir string, now time.Time, id string, transaction uint64, cause error) error {
	f, err := os.OpenFile(filepath.Join(dir, suspectName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(cause.Error(), "\n", " ")
	_, err = fmt.Fprintf(f, "%s ledger %s after transaction %d: %s\n", now.UTC().Format(time.RFC3339), id, transaction, text)
	for _, step := range []func() error{f.Sync, f.Close, func() error { return syncDir(dir) }} {
		if stepErr := step(); err == nil {
			err = stepErr
		}
	}
	return err
}

// marker is what a suspect marker says.
type marker struct {
	line string // the first one
	// known: it names the ledger and the last transaction that was
	// acknowledged. Otherwise nothing tells whether a file has everything.
	known       bool
	id          string
	transaction uint64
}

var markerLine = regexp.MustCompile(`^\S+ ledger ([0-9a-f]{32}) after transaction ([0-9]{1,19}): `)

// readMarker returns nil if there is no marker.
func readMarker(dir string) (*marker, error) {
	f, err := os.OpenFile(filepath.Join(dir, suspectName), os.O_RDONLY|syscall.O_NONBLOCK, 0) // or it waits, if it is a pipe
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return &marker{}, nil // it is there
	}
	m := &marker{known: true}
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if i == 0 {
			m.line = strings.TrimSpace(line[:min(len(line), 1000)])
		}
		said := markerLine.FindStringSubmatch(line)
		if said == nil || m.id != "" && m.id != said[1] {
			m.known = false
			break
		}
		n, err := strconv.ParseUint(said[2], 10, 63)
		m.known = m.known && err == nil
		m.id, m.transaction = said[1], max(m.transaction, n)
	}
	return m, nil
}

// checkSuspect refuses a directory with a marker.
func checkSuspect(dir string) error {
	m, err := readMarker(dir)
	if m == nil && err == nil {
		return nil
	}
	var line string
	if m != nil {
		line = m.line
	}
	return &fence.OpenError{Path: filepath.Join(dir, suspectName), Err: fence.ErrLedgerSuspect, Detail: line,
		Remedy: "what this ledger holds is not certain: see to the disk, then run fencegate ledger repair --state " + dir}
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
