package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	boltErrors "go.etcd.io/bbolt/errors"

	"fencegate/fence"
)

// Open opens the ledger in the state directory dir, which it reads as a whole
// to make sure of it. The ledger is then held until Close, or until the process
// ends.
//
// Errors are *fence.OpenError wrapping one of the fence.ErrLedger… errors, or
// the operating system's where a file cannot be opened or read; or the
// context's error, when that ends the waiting or checking.
func Open(ctx context.Context, dir string, opts Options) (*Ledger, error) {
	opts = opts.withDefaults()
	path := filepath.Join(dir, ledgerName)
	if err := checkPresent(dir); err != nil {
		return nil, err
	}
	if err := checkFilesystem(dir, opts); err != nil {
		return nil, err
	}
	started := time.Now()
	lock, err := takeLock(ctx, dir, opts.Wait)
	if err != nil {
		return nil, err
	}
	// Only now is what lies in the directory certain not to change.
	l, err := openLocked(ctx, dir, path, opts, max(opts.Wait-time.Since(started), 1))
	if err != nil {
		_ = releaseLock(lock)
		return nil, err
	}
	l.lock = lock
	return l, nil
}

// checkPresent keeps Open from leaving a lock file in a directory that no
// ledger has ever been in. It proves nothing else.
func checkPresent(dir string) error {
	for _, name := range []string{lockName, ledgerName, suspectName} {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil {
			return nil
		}
		if !isMissing(err) {
			return unusable(dir, err)
		}
	}
	return missing(filepath.Join(dir, ledgerName))
}

func openLocked(ctx context.Context, dir, path string, opts Options, wait time.Duration) (*Ledger, error) {
	if err := checkSuspect(dir); err != nil {
		return nil, err
	}
	file, err := openExisting(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	l, err := openFile(ctx, file, opts, wait)
	if err != nil {
		file.Close() // nothing was written; bbolt may have closed it already
		return nil, err
	}
	l.dir, l.now = dir, opts.Now
	return l, nil
}

// openExisting does not wait for who may open the other end of a pipe: what the
// file is can be asked once it is open.
func openExisting(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0)
	switch {
	case isMissing(err):
		return nil, missing(path)
	case errors.Is(err, syscall.EISDIR):
		return nil, damagedFile(path, "it is a directory")
	case err != nil:
		return nil, unusable(path, err)
	}
	return file, nil
}

// checkContent verifies a file that nobody changes, and returns its meta record
// and size.
func checkContent(ctx context.Context, file *os.File, opts Options) (fence.Meta, int64, error) {
	path := file.Name()
	// The file may be a link to elsewhere.
	if err := checkFilesystem(path, opts); err != nil {
		return fence.Meta{}, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return fence.Meta{}, 0, unusable(path, err)
	}
	if !info.Mode().IsRegular() {
		return fence.Meta{}, 0, damagedFile(path, "it is no regular file")
	}
	meta, err := verify(ctx, file, info.Size(), nil)
	var newer newerFormat
	switch {
	case errors.As(err, &newer):
		err = &fence.OpenError{Path: path, Err: fence.ErrLedgerNewer, Detail: newer.Error(),
			Remedy: "use the fencegate that wrote it, or a later one"}
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = damagedFile(path, err.Error())
	case opts.ExpectID != "" && opts.ExpectID != meta.ID:
		err = &fence.OpenError{Path: path, Err: fence.ErrLedgerForeign,
			Detail: fmt.Sprintf("its id is %s, expected %s", meta.ID, opts.ExpectID),
			Remedy: "use the state directory that belongs to the storage"}
	}
	return meta, info.Size(), err
}

func openFile(ctx context.Context, file *os.File, opts Options, wait time.Duration) (*Ledger, error) {
	path := file.Name()
	meta, size, err := checkContent(ctx, file, opts)
	if err != nil {
		return nil, err
	}
	current, err := currentMeta(file, size)
	if err != nil {
		return nil, damagedFile(path, err.Error())
	}
	first, err := mapFirstPages(file, current.pageSize)
	if err != nil {
		return nil, unusable(path, err)
	}
	l := &Ledger{file: file, first: first, meta: meta}
	l.transaction.Store(current.transaction)
	err = guarded(func() error {
		db, err := bbolt.Open(path, 0, boltOptions(file, wait))
		if err == nil {
			l.db, l.pageSize = db, db.Info().PageSize
		}
		return err
	})
	if err == nil {
		return l, nil
	}
	_ = first.close()
	if errors.Is(err, boltErrors.ErrTimeout) {
		return nil, &fence.OpenError{Path: path, Err: fence.ErrLedgerHeld,
			Detail: "another program has the file open", Remedy: "end it first"}
	}
	return nil, damagedFile(path, err.Error())
}

// boltOptions: never NoSync or NoGrowSync, for they give up durability. The
// free list is kept in the file (no NoFreelistSync) because verify wants every
// page to be accounted for, and because bbolt, after a failed commit, would
// have to rebuild it by walking the tree, and panics if it cannot. It is
// loaded at once, as for any writer. A map because the array's allocation takes
// time in proportion to its length. The statistics are a lock that all readers
// share, for numbers that nobody reads. The first mapping is small: growing it
// waits only for readers, and these are short.
func boltOptions(file *os.File, wait time.Duration) *bbolt.Options {
	return &bbolt.Options{
		// bbolt's own lock keeps out programs that know bbolt, not fencegate.
		Timeout:         wait,
		FreelistType:    bbolt.FreelistMapType,
		PreLoadFreelist: true,
		NoStatistics:    true,
		// The very file that was checked, and never a new one.
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return file, nil },
	}
}

// isMissing: the file or the directory is not there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func missing(path string) error {
	return &fence.OpenError{Path: path, Err: fence.ErrLedgerMissing,
		Remedy: "run once with --init to make a new one, or restore a backup"}
}

func damagedFile(path, detail string) error {
	return &fence.OpenError{Path: path, Err: fence.ErrLedgerDamaged, Detail: detail,
		Remedy: "keep the file, and restore a backup or see what can be saved: fencegate ledger repair --dry-run --state " + filepath.Dir(path)}
}

// unusable is for what the operating system refuses: permission, a read-only
// disk, an I/O error.
func unusable(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		path, err = pathErr.Path, pathErr.Err
	}
	return &fence.OpenError{Path: path, Err: err,
		Remedy: "this user must be able to read and write the state directory and its files"}
}
