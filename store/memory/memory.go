// Package memory keeps a ledger in memory: the trivial twin of the durable
// ones, for tests and demonstrations. It forgets everything when the process
// ends, which is exactly what a fence must not do.
package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fencegate/fence"
)

// Ledger implements fence.Ledger. All methods may be called from many
// goroutines at once.
//
// The hooks are for tests; set them before the ledger is used. Each, if not
// nil, is called before the method does anything and without a lock held, so
// it may block, and what it returns is what the method fails with.
type Ledger struct {
	OnRead  func([]fence.Key) error
	OnBelow func(fence.Resource) error
	// OnCommit and OnStart: as for a durable ledger, an error other than
	// fence.ErrLedgerFull ends the use of the ledger.
	OnCommit func([]fence.Row) error
	OnStart  func() error

	mu      sync.Mutex
	meta    fence.Meta
	rows    map[fence.Key]fence.Row
	started bool
	closed  bool
	failed  error
}

var _ fence.Ledger = (*Ledger)(nil)

var errClosed = errors.New("the ledger is closed")

// New returns an empty ledger with that meta record. An empty ID becomes
// "memory", an empty Kind fence.AnyTokens.
func New(meta fence.Meta) *Ledger {
	if meta.ID == "" {
		meta.ID = "memory"
	}
	if meta.Kind == "" {
		meta.Kind = fence.AnyTokens
	}
	meta.Commits = 0
	return &Ledger{meta: meta, rows: make(map[fence.Key]fence.Row)}
}

// Reopen returns the ledger as a new process finds it, without hooks. If l was
// not closed, this is a crash; l is then closed, changing nothing.
func (l *Ledger) Reopen() *Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	meta := l.meta
	meta.Commits = 0
	return &Ledger{meta: meta, rows: l.rows}
}

// enter calls a hook and locks the ledger, or returns why it cannot be used.
func (l *Ledger) enter(hook func() error, latches bool) error {
	l.mu.Lock()
	err := l.usable()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	err = hook()
	l.mu.Lock()
	if again := l.usable(); again != nil {
		err = again
	} else if latches && err != nil && !errors.Is(err, fence.ErrLedgerFull) {
		l.failed = fmt.Errorf("%w: %w", fence.ErrLedgerSuspect, err)
		err = l.failed
	}
	if err != nil {
		l.mu.Unlock()
	}
	return err
}

func (l *Ledger) usable() error {
	if l.closed {
		return errClosed
	}
	return l.failed
}

// Read implements fence.Ledger.
func (l *Ledger) Read(keys []fence.Key, rows []fence.Row) error {
	if len(rows) != len(keys) {
		return errors.New("as many rows are needed as keys")
	}
	err := l.enter(func() error {
		if l.OnRead == nil {
			return nil
		}
		return l.OnRead(keys)
	}, false)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	for i, key := range keys {
		row := l.rows[key]
		row.Key = key
		rows[i] = row
	}
	return nil
}

// Below implements fence.Ledger, in no particular order. yield runs without a
// lock held.
func (l *Ledger) Below(ctx context.Context, path fence.Resource, yield func(fence.Row) bool) error {
	if path.IsZero() {
		return errors.New("below which path?")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.enter(func() error {
		if l.OnBelow == nil {
			return nil
		}
		return l.OnBelow(path)
	}, false)
	if err != nil {
		return err
	}
	var below []fence.Row
	for key, row := range l.rows {
		if path.Covers(key.Path) && key.Path != path {
			below = append(below, row)
		}
	}
	l.mu.Unlock()
	for _, row := range below {
		if !yield(row) {
			return nil
		}
	}
	return nil
}

// Commit implements fence.Ledger. Like the durable ledgers it refuses rows that
// cannot be stored, and does not heed ctx.
func (l *Ledger) Commit(_ context.Context, rows []fence.Row) error {
	for _, row := range rows {
		if path := row.Path.Key(); !strings.HasPrefix(path, "/") || len(path) > 32<<10 || row.Kind > fence.Floor ||
			row.Token > fence.MaxToken || len(row.Owner) > fence.MaxOwnerLen || len(row.Client) > fence.MaxClientLen {
			return errors.New("a row that no ledger can store")
		}
	}
	err := l.enter(func() error {
		if l.OnCommit == nil {
			return nil
		}
		return l.OnCommit(rows)
	}, true)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	raised := false
	for _, row := range rows {
		if !row.Above(l.rows[row.Key]) {
			continue
		}
		row.Since = time.UnixMicro(row.Since.UnixMicro()).UTC()
		l.rows[row.Key] = row
		raised = true
	}
	if raised {
		l.meta.Commits++
	}
	return nil
}

// Start implements fence.Ledger.
func (l *Ledger) Start(_ context.Context, settle time.Duration) (fence.Meta, error) {
	if settle < 0 {
		return fence.Meta{}, errors.New("settle is negative")
	}
	err := l.enter(func() error {
		if l.OnStart == nil {
			return nil
		}
		return l.OnStart()
	}, true)
	if err != nil {
		return fence.Meta{}, err
	}
	defer l.mu.Unlock()
	before := l.meta
	l.meta.StartedWith(settle)
	l.meta.Commits++
	l.started = true
	return before, nil
}

// Meta implements fence.Ledger.
func (l *Ledger) Meta() (fence.Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fence.Meta{}, errClosed
	}
	return l.meta, nil
}

// Close implements fence.Ledger. The clean flag is set only if clean is true,
// Start had succeeded and nothing has failed; otherwise Close(true) returns the
// failure. Closing again does nothing.
func (l *Ledger) Close(clean bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if !clean || !l.started {
		return nil
	}
	if l.failed == nil {
		l.meta.Clean = true
	}
	return l.failed
}
