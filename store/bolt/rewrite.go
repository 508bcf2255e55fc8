package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/bbolt"

	"fencegate/fence"
)

// replace writes the new ledger and puts it in the place of the old one. Each
// step is on disk before the next: the new file, complete and compared; a second
// name for the old one; the new file under the ledger's name; no marker.
func (r *repair) replace(ctx context.Context) (err error) {
	lock, err := takeLock(ctx, r.dir, r.opts.Wait)
	if err != nil {
		return err
	}
	defer releaseLock(lock)
	// The file may be a link to elsewhere, where there is room for it.
	path, err := filepath.EvalSymlinks(r.Path)
	if err != nil {
		return unusable(r.Path, err)
	}
	if there, err := os.Stat(path); err != nil || !r.isFile(there) {
		return &fence.OpenError{Path: r.Path, Err: fence.ErrLedgerHeld, Detail: "it was replaced meanwhile", Remedy: "try again"}
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !isMissing(err) {
		return cannotCreate(fresh, err) // of a repair that was ended
	}
	defer func() {
		if err != nil {
			_ = os.Remove(fresh)
		}
	}()
	if err := guarded(func() error { return r.rewrite(ctx, fresh) }); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return cannotCreate(fresh, err)
	}
	old, err := r.keep(path)
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err == nil {
		r.Old = old
		err = syncDir(filepath.Dir(path))
	}
	if err == nil {
		err = r.unmark()
	}
	if err != nil {
		return cannotCreate(r.Path, err)
	}
	return nil
}

func (r *repair) isFile(there os.FileInfo) bool {
	mine, err := r.file.Stat()
	return err == nil && os.SameFile(mine, there)
}

// keep gives the old file a second name, so that the ledger's own is never
// without a file.
func (r *repair) keep(path string) (string, error) {
	name := path + ".old-" + r.opts.Now().UTC().Format("20060102T150405Z")
	for i := 1; ; i++ {
		old := name
		if i > 1 {
			old = fmt.Sprintf("%s.%d", name, i)
		}
		err := os.Link(path, old)
		if errors.Is(err, os.ErrExist) && i < 1000 {
			continue
		}
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EMLINK) {
			err = r.copyTo(old) // a file system without second names
		}
		if err == nil {
			err = syncDir(filepath.Dir(path))
		}
		return old, err
	}
}

func (r *repair) copyTo(path string) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(r.file, 0, r.size))
	if err = errors.Join(err, likeFile(to, r.file), to.Sync(), to.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

func (r *repair) unmark() error {
	err := os.Remove(filepath.Join(r.dir, suspectName))
	if err == nil {
		return syncDir(r.dir)
	}
	if isMissing(err) {
		return nil
	}
	return err
}

// rewrite makes the new file, on disk, and compares it with the old one.
func (r *repair) rewrite(ctx context.Context, path string) error {
	value, err := encodeMeta(r.Meta)
	if err != nil {
		return err
	}
	if err := writeLedger(path, value); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := likeFile(file, r.file); err != nil {
		return errors.Join(err, file.Close())
	}
	db, err := bbolt.Open(path, 0, boltOptions(file, DefaultWait))
	if err != nil {
		return errors.Join(err, file.Close())
	}
	db.NoSync = true // all of it at the end
	err = r.fill(ctx, db)
	err = errors.Join(err, file.Sync(), db.Close())
	if err != nil {
		return err
	}
	if file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	err = countOn(file, r.transaction)
	if err == nil {
		err = errors.Join(file.Sync(), r.compare(ctx, file))
	}
	return errors.Join(err, file.Close())
}

// fill puts in all rows that can be read: those of the chosen tree, in the order
// of their keys, and then whatever else is higher.
func (r *repair) fill(ctx context.Context, db *bbolt.DB) error {
	b := &batches{db: db}
	defer b.end()
	if r.base != nil {
		if _, err := readTree(ctx, r.file, r.base.boltMeta, b.put); err != nil {
			return err
		}
	}
	if err := r.scanRows(ctx, b.put); err != nil {
		return err
	}
	return b.commit()
}

func (r *repair) scanRows(ctx context.Context, visit func(*fence.Row) error) error {
	return scan(ctx, r.file, r.size, r.pageSize, visit, func(fence.Meta) {})
}

// batches raises rows in transactions that do not grow without limit.
type batches struct {
	db   *bbolt.DB
	tx   *bbolt.Tx
	size int
	rows scratch
}

// put raises a row, as Commit does.
func (b *batches) put(row *fence.Row) (err error) {
	const most = 4 << 20
	if b.size > most {
		if err := b.commit(); err != nil {
			return err
		}
	}
	if b.tx == nil {
		if b.tx, err = b.db.Begin(true); err != nil {
			return err
		}
	}
	n, err := b.rows.raise(b.tx, row)
	b.size += n
	return err
}

func (b *batches) commit() error {
	if b.tx == nil {
		return nil
	}
	tx := b.tx
	b.tx, b.size = nil, 0
	defer b.rows.reset()
	return tx.Commit()
}

func (b *batches) end() {
	if b.tx != nil {
		_ = b.tx.Rollback()
	}
}

// compare verifies the new file, and that no row that was read of the old one is
// above what the new one has; it counts what is more than the chosen tree had.
func (r *repair) compare(ctx context.Context, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	rows := 0
	meta, err := verify(ctx, file, info.Size(), func(*fence.Row) { rows++ })
	if err != nil {
		return err
	}
	if meta != r.Meta {
		return errors.New("the new file has another meta record")
	}
	mine, err := os.Open(file.Name())
	if err != nil {
		return err
	}
	db, err := bbolt.Open(file.Name(), 0, &bbolt.Options{ReadOnly: true, Timeout: DefaultWait,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return mine, nil }})
	if err != nil {
		return errors.Join(err, mine.Close())
	}
	err = db.View(func(tx *bbolt.Tx) error {
		kept, raised := 0, 0
		if r.base != nil {
			_, err := readTree(ctx, r.file, r.base.boltMeta, func(row *fence.Row) error {
				now, err := recorded(tx, row.Key)
				kept++
				if now.Above(*row) {
					raised++
				}
				return errors.Join(err, notBelow(row, now))
			})
			if err != nil {
				return err
			}
		}
		r.Recovered = rows - kept + raised
		return r.scanRows(ctx, func(row *fence.Row) error {
			now, err := recorded(tx, row.Key)
			return errors.Join(err, notBelow(row, now))
		})
	})
	return errors.Join(err, db.Close())
}

func notBelow(old *fence.Row, now fence.Row) error {
	if old.Above(now) {
		return fmt.Errorf("the new file has token %s for the %s of %s, the old one %s", now.Token, old.Kind, old.Path, old.Token)
	}
	return nil
}

// countOn has the transactions of a new file go on behind those of the old one,
// so that the number which a marker names stays comparable: on both meta pages,
// by the same even number, since a transaction's parity says which page is its.
func countOn(file *os.File, last uint64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	current, err := currentMeta(file, info.Size())
	if err != nil {
		return err
	}
	const most = 1 << 62
	more := min(last, most)/2*2 + 2
	for id := range int64(2) {
		body := make([]byte, 64)
		at := id*int64(current.pageSize) + pageHeader
		if _, err := file.ReadAt(body, at); err != nil {
			return err
		}
		order := binary.NativeEndian
		order.PutUint64(body[48:], order.Uint64(body[48:])+more)
		order.PutUint64(body[56:], fnv1a(body[:56]))
		if _, err := file.WriteAt(body, at); err != nil {
			return err
		}
	}
	return nil
}
