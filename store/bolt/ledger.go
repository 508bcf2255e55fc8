package bolt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
)

// Ledger is an open ledger file. It implements fence.Ledger; all methods may be
// called from many goroutines at once.
type Ledger struct {
	dir   string
	db    *bbolt.DB
	file  *os.File // bbolt's own
	lock  *os.File
	first firstPages
	now   func() time.Time

	pageSize int

	// writer is held by everything that changes the file, before open. It
	// guards what follows.
	writer  sync.Mutex
	started bool
	scratch scratch

	// open is read-locked by whoever uses db, and locked to close it.
	open   sync.RWMutex
	closed bool

	// transaction is bbolt's number of the last one that was acknowledged.
	transaction atomic.Uint64
	// failed is set once the state of the disk is unknown, for good.
	failed atomic.Pointer[latchedError]
	// stuck: a panic left bbolt with locks held, so that calling it again
	// would block for good.
	stuck atomic.Bool

	state sync.Mutex // guards meta
	meta  fence.Meta
}

var _ fence.Ledger = (*Ledger)(nil)

var errClosed = errors.New("the ledger is closed")

// usable returns why nothing may be done any more. Callers hold open.
func (l *Ledger) usable() error {
	if l.closed {
		return errClosed
	}
	if failed := l.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

// view runs f in a read transaction. Transactions are short, whatever f is:
// one that is open keeps freed pages from being used again, and a growing file
// from being mapped anew.
func (l *Ledger) view(f func(*bbolt.Tx) error) error {
	l.open.RLock()
	defer l.open.RUnlock()
	if err := l.usable(); err != nil {
		return err
	}
	beginning := false
	err := guarded(func() error {
		l.first.touch()
		beginning = true
		tx, err := l.db.Begin(false)
		beginning = false
		if err != nil {
			return err
		}
		defer tx.Rollback()
		return f(tx)
	})
	if beginning { // a panic there leaves bbolt's locks locked
		l.stuck.Store(true)
		return l.fail(err)
	}
	return err
}

// Read implements fence.Ledger. All keys are read from one state of the ledger.
func (l *Ledger) Read(keys []fence.Key, rows []fence.Row) error {
	if len(rows) != len(keys) {
		return errors.New("as many rows are needed as keys")
	}
	return l.view(func(tx *bbolt.Tx) error {
		buckets := [...]*bbolt.Bucket{fence.Mark: tx.Bucket(marksBucket), fence.Floor: tx.Bucket(floorsBucket)}
		for i := range keys {
			rows[i] = fence.Row{Key: keys[i]}
			if keys[i].Path.IsZero() || keys[i].Kind > fence.Floor {
				return errors.New("a key without path or kind")
			}
			key := []byte(keys[i].Path.Key())
			value := buckets[keys[i].Kind].Get(key)
			if value == nil {
				continue
			}
			raw, err := parseRow(keys[i].Kind, key, value)
			if err != nil {
				return err
			}
			raw.copyTo(&rows[i])
		}
		return nil
	})
}

// A page of a scan ends after so many rows or bytes of keys.
const (
	pageRows  = 1000
	pageBytes = 1 << 20
)

// Below implements fence.Ledger: marks come first, then floors, each by path.
// Rows are read a page at a time, and yield runs between the transactions, so
// it may take its time and may use the ledger. It returns the context's error
// when the context ends between two pages.
func (l *Ledger) Below(ctx context.Context, path fence.Resource, yield func(fence.Row) bool) error {
	if path.IsZero() {
		return errors.New("below which path?")
	}
	prefix := []byte(path.Key() + "/")
	if path == fence.Root {
		prefix = []byte("/")
	}
	var page []fence.Row
	for _, kind := range []fence.Kind{fence.Mark, fence.Floor} {
		for from := prefix; from != nil; {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if page, from, err = l.page(kind, prefix, from, page[:0]); err != nil {
				return err
			}
			for i := range page {
				if !yield(page[i]) {
					return nil
				}
			}
		}
	}
	return nil
}

// page appends the next rows with the prefix, and returns where to go on, nil
// at the end.
func (l *Ledger) page(kind fence.Kind, prefix, from []byte, rows []fence.Row) (_ []fence.Row, next []byte, _ error) {
	size := 0
	err := l.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bucketOf(kind)).Cursor()
		for key, value := cursor.Seek(from); bytes.HasPrefix(key, prefix); key, value = cursor.Next() {
			if len(rows) == pageRows || size > pageBytes {
				next = bytes.Clone(key)
				return nil
			}
			raw, err := parseRow(kind, key, value)
			if err != nil {
				return err
			}
			if len(key) == 1 { // the root is not below itself
				continue
			}
			row := fence.Row{Key: fence.Key{Kind: kind, Path: fence.ResourceOf(string(key))}}
			raw.copyTo(&row)
			rows = append(rows, row)
			size += len(key)
		}
		return nil
	})
	return rows, next, err
}

// Meta implements fence.Ledger. It needs no disk and tells the last known
// record even after a failure.
func (l *Ledger) Meta() (fence.Meta, error) {
	l.open.RLock()
	defer l.open.RUnlock()
	if l.closed {
		return fence.Meta{}, errClosed
	}
	l.state.Lock()
	defer l.state.Unlock()
	return l.meta, nil
}

// Close implements fence.Ledger. It waits for calls that are under way. The
// clean flag is set only if clean is true, Start had succeeded and nothing has
// failed; otherwise Close(true) returns the failure, having closed the ledger
// all the same. Closing again does nothing.
func (l *Ledger) Close(clean bool) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if l.closed {
		return nil
	}
	var err error
	if clean && l.started {
		err = l.changeMeta(func(m *fence.Meta) { m.Clean = true })
	}
	l.open.Lock()
	defer l.open.Unlock()
	l.closed = true
	return errors.Join(err, l.release())
}

// release gives up everything without writing, the lock last.
func (l *Ledger) release() error {
	var err error
	if l.stuck.Load() {
		err = releaseLock(l.file) // bbolt's own
	} else {
		err = guarded(l.db.Close)
	}
	return errors.Join(err, l.first.close(), releaseLock(l.lock))
}
