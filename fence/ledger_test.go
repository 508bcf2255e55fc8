package fence

import (
	"context"
	"errors"
	"sync"
	"time"
)

// fakeLedger keeps rows in memory. Its fields let tests hold up or fail what
// the gate does with it.
type fakeLedger struct {
	mu      sync.Mutex
	rows    map[Key]Row
	meta    Meta
	commits int
	readErr error
	closed  *bool // how it was closed

	onCommit func([]Row) error // called before rows become durable
	onRead   func()            // called after the rows have been looked up
	onBelow  func()            // the same
}

func newFakeLedger() *fakeLedger {
	return &fakeLedger{rows: map[Key]Row{}, meta: Meta{ID: "test", Clean: true}}
}

func (l *fakeLedger) Read(keys []Key, rows []Row) error {
	l.mu.Lock()
	for i, k := range keys {
		rows[i] = l.rows[k]
	}
	err := l.readErr
	l.mu.Unlock()
	if l.onRead != nil {
		l.onRead()
	}
	return err
}

func (l *fakeLedger) Below(ctx context.Context, path Resource, yield func(Row) bool) error {
	l.mu.Lock()
	var below []Row
	for k, r := range l.rows {
		if k.Path != path && path.Covers(k.Path) {
			below = append(below, r)
		}
	}
	l.mu.Unlock()
	if l.onBelow != nil {
		l.onBelow()
	}
	for _, r := range below {
		if !yield(r) {
			break
		}
	}
	return ctx.Err()
}

func (l *fakeLedger) Commit(_ context.Context, rows []Row) error {
	if l.onCommit != nil {
		if err := l.onCommit(rows); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits++
	for _, r := range rows {
		if r.Above(l.rows[r.Key]) {
			l.rows[r.Key] = r
		}
	}
	return nil
}

func (l *fakeLedger) Start(_ context.Context, settle time.Duration) (Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.meta
	l.meta.StartedWith(settle)
	return old, nil
}

func (l *fakeLedger) Meta() (Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meta, nil
}

func (l *fakeLedger) Close(clean bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed != nil {
		return errors.New("closed twice")
	}
	l.closed = &clean
	l.meta.Clean = clean
	return nil
}

// row returns the durable row of k.
func (l *fakeLedger) row(k Key) Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[k]
}

// put makes a row durable without the gate.
func (l *fakeLedger) put(kind Kind, path string, token Token, owner Owner) {
	k := Key{kind, ResourceOf(path)}
	l.rows[k] = Row{Key: k, Token: token, Owner: owner}
}
