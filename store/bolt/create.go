package bolt

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/bbolt"

	"fencegate/fence"
)

// Create makes an empty ledger in the state directory dir and returns its
// record. The directory is made if need be. Whatever ends it, there is then a
// complete ledger or none.
//
// It never touches what is there: with any ledger.db (empty, damaged or held by
// another process) or a suspect marker it returns fence.ErrLedgerExists. The
// other errors are fence.ErrLedgerCreate, ErrLedgerHeld and ErrLedgerNetworkFS,
// each in a *fence.OpenError, or the context's.
//
// A new ledger is not clean: what another one, now lost, had in flight may
// still land.
func Create(ctx context.Context, dir string, opts Options) (fence.Meta, error) {
	opts = opts.withDefaults()
	path := filepath.Join(dir, ledgerName)
	meta, value, err := newMeta(opts)
	if err != nil {
		return fence.Meta{}, cannotCreate(path, err)
	}
	// Before the lock as well: a running process will not make room for this.
	if err := checkAbsent(dir); err != nil {
		return fence.Meta{}, err
	}
	if err := makeDir(dir); err != nil {
		return fence.Meta{}, cannotCreate(path, err)
	}
	if err := checkFilesystem(dir, opts); err != nil {
		return fence.Meta{}, err
	}
	lock, err := takeLock(ctx, dir, opts.Wait)
	if err != nil {
		return fence.Meta{}, createError(path, err)
	}
	defer releaseLock(lock)
	if err := checkAbsent(dir); err != nil {
		return fence.Meta{}, err
	}
	if err := makeLedger(dir, value); err != nil {
		return fence.Meta{}, cannotCreate(path, err)
	}
	return meta, nil
}

func newMeta(opts Options) (fence.Meta, []byte, error) {
	var id [16]byte
	rand.Read(id[:])
	meta := fence.Meta{ID: hex.EncodeToString(id[:]), Kind: opts.Kind}
	if meta.Kind == fence.TimeTokens {
		micros := opts.Now().UnixMicro()
		if micros <= 0 {
			return fence.Meta{}, nil, errors.New("the clock is before 1970")
		}
		meta.Global = fence.Token(micros)
	}
	value, err := encodeMeta(meta)
	return meta, value, err
}

func checkAbsent(dir string) error {
	for _, name := range []string{ledgerName, suspectName} {
		path := filepath.Join(dir, name)
		_, err := os.Lstat(path)
		if err == nil {
			return &fence.OpenError{Path: path, Err: fence.ErrLedgerExists, Remedy: "drop --init"}
		}
		if !isMissing(err) {
			return cannotCreate(path, err)
		}
	}
	return nil
}

// makeLedger makes the file under another name, complete and on disk, before it
// gets its own.
func makeLedger(dir string, meta []byte) (err error) {
	path := filepath.Join(dir, newName)
	if err := os.Remove(path); err != nil && !isMissing(err) {
		return err // one that was not finished
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	if err := guarded(func() error { return writeLedger(path, meta) }); err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(dir, ledgerName)); err != nil {
		return err
	}
	return syncDir(dir)
}

func writeLedger(path string, meta []byte) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0, boltOptions(file, DefaultWait))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, marksBucket, floorsBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		bucket := tx.Bucket(metaBucket)
		return errors.Join(bucket.Put(formatKey, encodeFormat(format)), bucket.Put(recordKey, meta))
	})
	// bbolt syncs data alone; the file's size and mode shall last as well.
	return errors.Join(err, file.Sync(), db.Close())
}

// makeDir makes dir and its missing parents, and makes their names durable.
func makeDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		return &os.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if !isMissing(err) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func cannotCreate(path string, err error) error {
	return &fence.OpenError{Path: path, Err: fence.ErrLedgerCreate, Detail: err.Error(),
		Remedy: "the state directory must be on a disk with free space and writable by this user"}
}

// createError turns what the operating system refused into ErrLedgerCreate and
// leaves the rest.
func createError(path string, err error) error {
	var open *fence.OpenError
	if errors.As(err, &open) && !errors.Is(err, fence.ErrLedgerHeld) {
		return cannotCreate(path, fmt.Errorf("%s: %w", open.Path, open.Err))
	}
	return err
}
