package fence

import "time"

// Reason says why a request may not pass. The values are part of the HTTP
// contract.
type Reason string

const (
	// Passed is the zero Reason: nothing stands in the way.
	Passed Reason = ""

	// Final: the request can never pass.
	StaleToken    Reason = "stale_token"
	OwnerConflict Reason = "owner_conflict"
	TreeFenced    Reason = "tree_fenced"
	TokenMissing  Reason = "token_missing"

	// It could not begin in time. In the order in which they are named when
	// several apply.
	LedgerUnavailable Reason = "ledger_unavailable"
	Draining          Reason = "draining"
	Recovering        Reason = "recovering"
	Settling          Reason = "settling"
	Busy              Reason = "busy"

	// ClientGone: nobody is left to answer.
	ClientGone Reason = "client_gone"
)

// Verdict is what the gate says of a request. The zero Verdict lets it pass.
type Verdict struct {
	Reason Reason
	// Touch is the index of the touch that the verdict is about.
	Touch int
	// Row stands in the way, for final reasons. Its key is the floor of Root
	// with Global set where the global floor does.
	Row    Row
	Global bool
	// RetryAfter is when trying again may help; 0 when unknown.
	RetryAfter time.Duration
	// Err is the ledger's error with LedgerUnavailable.
	Err error
}

// OK reports whether nothing stands in the way.
func (v Verdict) OK() bool { return v.Reason == Passed }
