package fence

import (
	"context"
	"errors"
	"time"
)

// Ledger keeps rows and the meta record durably. The gate is its only caller
// while the proxy runs.
//
// Read and Below may be called from many goroutines at once and beside Commit;
// each sees every commit that returned before it was called. Commit is called
// by one goroutine at a time, which puts all that waits into one call (group
// commit); Start comes before it, Close after it, and nothing after Close.
//
// Rows only rise: a row that is not Above the recorded one leaves it as it is.
type Ledger interface {
	// Read sets rows[i] to the recorded row of keys[i], with NoToken where
	// there is none. An error means that nothing may be concluded about any of
	// them.
	Read(keys []Key, rows []Row) error

	// Below calls yield for every row strictly below path (below the root:
	// every row except the root's own) until yield returns false. It must not
	// hold up commits however many rows there are, so a row that is raised
	// meanwhile may be seen before or after.
	Below(ctx context.Context, path Resource, yield func(Row) bool) error

	// Commit records all rows in one transaction. When it returns nil they
	// survive kill −9 and power loss. An error that is ErrLedgerFull leaves the
	// ledger as it was, and the call may be repeated; after any other error
	// what is on disk is unknown and the gate does not use the ledger again.
	// rows are the caller's again when it returns.
	// ctx need not be heeded: a commit that is broken off leaves the same doubt.
	Commit(ctx context.Context, rows []Row) error

	// Start durably applies Meta.StartedWith and returns the record as it was
	// before. Nothing may begin upstream before it returns.
	Start(ctx context.Context, settle time.Duration) (Meta, error)

	// Meta returns the current meta record.
	Meta() (Meta, error)

	// Close ends the ledger's use; clean sets the clean flag in the last
	// transaction. It is the only way to set it.
	Close(clean bool) error
}

// Meta is the ledger's own record.
type Meta struct {
	// ID identifies the ledger; storage remembers which ledger guards it.
	ID string
	// Clean: the last user stopped with nothing in flight or in doubt.
	Clean bool
	// Settle of the last user, or of an earlier one if that was longer and
	// nobody has stopped clean since: for the hold after an unclean start.
	Settle time.Duration
	// Global is the global floor: every token below it is stale everywhere.
	Global Token
	// Kind is how tokens are made.
	Kind TokenKind
	// Commits counts the transactions since the ledger was opened.
	Commits uint64
}

// StartedWith changes the record to that of a ledger in use: not clean, with
// this settle time. After an unclean stop a longer one stays: if this run is
// killed before its hold is over, what the run before had in flight may still
// land, and only the record tells the next start for how long.
func (m *Meta) StartedWith(settle time.Duration) {
	if m.Clean {
		m.Settle = settle
	}
	m.Settle = max(m.Settle, settle)
	m.Clean = false
}

// TokenKind says what the ledger may assume of tokens.
type TokenKind string

const (
	// AnyTokens: nothing but that they rise.
	AnyTokens TokenKind = "any"
	// TimeTokens are microseconds since 1970, as lockclient makes them.
	TimeTokens TokenKind = "time"
)

// ErrLedgerFull means that a commit found no space and changed nothing.
var ErrLedgerFull = errors.New("no space left for the ledger")
