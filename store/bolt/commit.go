package bolt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
)

// Commit implements fence.Ledger. A batch in which no row rises writes nothing
// and is no transaction. ctx is not heeded: a local transaction is short, and
// one that was broken off would leave the state of the disk unknown.
//
// A row that cannot be stored (no absolute path, a path over 32 KiB, a token
// above fence.MaxToken, an owner or client over 128 bytes) is an error before
// anything is written; the ledger stays usable.
func (l *Ledger) Commit(_ context.Context, rows []fence.Row) error {
	for i := range rows {
		if err := checkRow(&rows[i]); err != nil {
			return err
		}
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	defer l.scratch.reset()
	order := l.scratch.order[:0]
	for i := range rows {
		order = append(order, &rows[i])
	}
	l.scratch.order = order
	// By key, so that neighbours share pages. Stable: rows of one key keep
	// their order.
	slices.SortStableFunc(order, func(a, b *fence.Row) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Path.Key(), b.Path.Key()))
	})
	return l.change(func(tx *bbolt.Tx) (bool, error) {
		raised := false
		for _, row := range order {
			n, err := l.scratch.raise(tx, row)
			if err != nil {
				return false, err
			}
			raised = raised || n > 0
		}
		return raised, nil
	})
}

// scratch is what a transaction needs for its rows, kept for the next one.
type scratch struct {
	order  []*fence.Row
	key    []byte
	values []byte // bbolt reads what it was given until the transaction ends
	before []byte // the meta pages
}

// A batch that is larger than most gives its memory back.
const maxScratch = 64 << 10 // bytes

// reset ends the transaction's use.
func (s *scratch) reset() {
	clear(s.order)
	if cap(s.order) > maxScratch/8 {
		s.order = nil
	}
	if s.values = s.values[:0]; cap(s.values) > maxScratch {
		s.values = nil
	}
}

// raise records a row that is above the recorded one, and returns how many bytes
// it wrote.
func (s *scratch) raise(tx *bbolt.Tx, row *fence.Row) (int, error) {
	s.key = append(s.key[:0], row.Path.Key()...)
	bucket, key := tx.Bucket(bucketOf(row.Kind)), s.key
	var old rawRow
	if value := bucket.Get(key); value != nil {
		var err error
		if old, err = parseRow(row.Kind, key, value); err != nil {
			return 0, err
		}
	}
	// The audit's part of the old row need not be copied out of the file.
	if !row.Above(fence.Row{Token: old.token, Owner: fence.Owner(old.owner)}) {
		return 0, nil
	}
	// Of key bbolt makes a copy, of value it does not. When values grows, those
	// before stay where they are.
	start := len(s.values)
	s.values = appendRow(s.values, row, key)
	value := s.values[start:len(s.values):len(s.values)]
	return len(key) + len(value), bucket.Put(key, value)
}

// recorded returns the row of a key, with NoToken if there is none.
func recorded(tx *bbolt.Tx, key fence.Key) (fence.Row, error) {
	row, path := fence.Row{Key: key}, []byte(key.Path.Key())
	value := tx.Bucket(bucketOf(key.Kind)).Get(path)
	if value == nil {
		return row, nil
	}
	raw, err := parseRow(key.Kind, path, value)
	if err == nil {
		raw.copyTo(&row)
	}
	return row, err
}

// Start implements fence.Ledger. Its transaction is written even if it changes
// nothing, which shows at the start whether the disk takes writes.
func (l *Ledger) Start(_ context.Context, settle time.Duration) (fence.Meta, error) {
	if settle < 0 {
		return fence.Meta{}, errors.New("settle is negative")
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	l.state.Lock()
	before := l.meta
	l.state.Unlock()
	err := l.changeMeta(func(m *fence.Meta) {
		m.StartedWith(settle)
	})
	if err != nil {
		return fence.Meta{}, err
	}
	l.started = true
	return before, nil
}

// changeMeta durably changes the meta record. Callers hold writer.
func (l *Ledger) changeMeta(f func(*fence.Meta)) error {
	l.state.Lock()
	meta := l.meta
	l.state.Unlock()
	f(&meta)
	value, err := encodeMeta(meta)
	if err != nil {
		return err
	}
	err = l.change(func(tx *bbolt.Tx) (bool, error) {
		return true, tx.Bucket(metaBucket).Put(recordKey, value)
	})
	if err != nil {
		return err
	}
	l.state.Lock()
	defer l.state.Unlock()
	meta.Commits = l.meta.Commits
	l.meta = meta
	return nil
}

// change runs f in a write transaction, and commits it if f says that there is
// something to write. Callers hold writer.
//
// What bbolt 1.5.0's Tx.Commit leaves behind when it fails, in its order:
//
//   - growing the file, writing data pages, the first fdatasync: only pages
//     that no meta page reaches have been touched. bbolt rolls back and reads
//     the free list again from the file. Disk and memory are as before, apart
//     from the length of the file, and the next transaction writes each of its
//     pages anew, so that pages which a failed sync dropped do not matter.
//   - writing the meta page: it may be there or not.
//   - the second fdatasync: the meta page is in the page cache, and bbolt,
//     which reads meta pages through its mapping, goes on from the new state;
//     what a power loss would leave is unknown.
//   - a panic: bbolt's locks stay locked.
//
// So a lack of space is harmless exactly if the meta pages are unchanged.
// Everything else latches. That goes for EIO before the meta page is written,
// too: a disk that fails is not to be trusted with the next commit.
func (l *Ledger) change(f func(*bbolt.Tx) (dirty bool, err error)) error {
	l.open.RLock()
	defer l.open.RUnlock()
	if err := l.usable(); err != nil {
		return err
	}
	before := l.scratch.before[:0]
	err := guarded(func() error {
		before = l.first.copyTo(before)
		return nil
	})
	if err != nil {
		return l.fail(err)
	}
	l.scratch.before = before
	dirty, transaction := false, 0
	err = guarded(func() error {
		l.first.touch()
		tx, err := l.db.Begin(true)
		if err != nil {
			return err
		}
		if dirty, err = f(tx); err != nil || !dirty {
			return errors.Join(err, tx.Rollback())
		}
		transaction = tx.ID()
		return tx.Commit()
	})
	if err == nil && dirty {
		err = l.inPlace()
	}
	switch {
	case err == nil:
		if dirty {
			l.transaction.Store(uint64(transaction))
			l.state.Lock()
			l.meta.Commits++
			l.state.Unlock()
		}
		return nil
	case isFull(err) && l.metaUnchanged(before):
		return fmt.Errorf("%w: %w", fence.ErrLedgerFull, err)
	}
	var p *panicked
	if errors.As(err, &p) {
		l.stuck.Store(true)
	}
	return l.fail(err)
}

// metaPages reads bbolt's two meta pages after a failure, from the file and not
// from the mapping: what the next start would find.
func (l *Ledger) metaPages() ([]byte, error) {
	pages := make([]byte, 2*l.pageSize)
	_, err := l.file.ReadAt(pages, 0)
	return pages, err
}

func (l *Ledger) metaUnchanged(before []byte) bool {
	after, err := l.metaPages()
	return err == nil && bytes.Equal(before, after)
}

// isFull reports whether err is of the class that goes away when space is made.
// bbolt flattens the errors of growing the file to text.
func isFull(err error) bool {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, errno) || strings.HasSuffix(err.Error(), errno.Error()) {
			return true
		}
	}
	return false
}
