package bolt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fencegate/fence"
)

// Inspect reads the ledger in the state directory dir, which nobody may be
// using, and changes nothing there. visit, if not nil, is called for every row
// once the whole file is known to be sound: marks first, then floors, each by
// path; its error ends the reading. The row is valid during the call.
//
// Several may inspect a ledger at once; whoever wants to open it waits for
// them. Errors are those of Open, and visit's.
func Inspect(ctx context.Context, dir string, opts Options, visit func(*fence.Row) error) (fence.Meta, error) {
	opts = opts.withDefaults()
	path := filepath.Join(dir, ledgerName)
	if err := checkPresent(dir); err != nil {
		return fence.Meta{}, err
	}
	if err := checkFilesystem(dir, opts); err != nil {
		return fence.Meta{}, err
	}
	if err := checkSuspect(dir); err != nil {
		return fence.Meta{}, err
	}
	file, err := openExisting(path, os.O_RDONLY)
	if err != nil {
		return fence.Meta{}, err
	}
	defer releaseLock(file)
	// bbolt's own lock, which an open ledger holds too. The lock file cannot
	// serve: where it is missing, one made by another user than the ledger's
	// would keep that user out.
	if err := lockFile(ctx, file, syscall.LOCK_SH, opts.Wait); err != nil {
		return fence.Meta{}, err
	}
	meta, size, err := checkContent(ctx, file, opts)
	if err != nil || visit == nil {
		return meta, err
	}
	var stopped error
	_, err = verify(ctx, file, size, func(r *fence.Row) {
		if stopped == nil {
			stopped = visit(r)
		}
	})
	if stopped == nil {
		stopped = err // the file cannot have changed, but reading it can fail
	}
	return meta, stopped
}

// lockFile takes the lock of the ledger file itself, LOCK_SH together with
// others who only read it, or LOCK_EX.
func lockFile(ctx context.Context, file *os.File, how int, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return unusable(file.Name(), err)
		case !time.Now().Before(deadline):
			return &fence.OpenError{Path: file.Name(), Err: fence.ErrLedgerHeld,
				Detail: holder(filepath.Join(filepath.Dir(file.Name()), lockName)), Remedy: "stop it first"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}
