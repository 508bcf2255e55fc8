package fence

import (
	"errors"
	"strings"
)

// Why a ledger cannot be opened or made; each is wrapped in an *OpenError.
var (
	ErrLedgerMissing   = errors.New("there is no ledger")
	ErrLedgerExists    = errors.New("already initialised")
	ErrLedgerCreate    = errors.New("the ledger cannot be created")
	ErrLedgerDamaged   = errors.New("the ledger is damaged")
	ErrLedgerSuspect   = errors.New("the ledger is suspect: a commit failed")
	ErrLedgerNewer     = errors.New("the ledger has a newer format")
	ErrLedgerForeign   = errors.New("this is another ledger than the one that guards the storage")
	ErrLedgerHeld      = errors.New("the ledger is in use by another process")
	ErrLedgerNetworkFS = errors.New("the ledger is on a network file system")
)

// OpenError tells in one line where a ledger could not be opened, why, and
// what to do about it.
type OpenError struct {
	Path   string
	Err    error  // one of the errors above
	Detail string // what was found, may be empty
	Remedy string // what the operator can do, may be empty
}

func (e *OpenError) Error() string {
	var b strings.Builder
	b.WriteString(e.Path + ": " + e.Err.Error())
	if e.Detail != "" {
		b.WriteString(" (" + e.Detail + ")")
	}
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

func (e *OpenError) Unwrap() error { return e.Err }
