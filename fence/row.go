package fence

import "time"

// Kind tells the two kinds of rows apart.
type Kind uint8

const (
	// Mark rows hold for one resource.
	Mark Kind = iota
	// Floor rows hold for a path and for everything below it.
	Floor
)

func (k Kind) String() string {
	if k == Floor {
		return "floor"
	}
	return "mark"
}

// Key names a row of the ledger.
type Key struct {
	Kind Kind
	Path Resource
}

// Row is what the ledger keeps: the highest (token, owner) seen for its key.
// A row with NoToken is the same as no row.
type Row struct {
	Key
	Token Token
	Owner Owner
	// Client and Since are for the audit: who raised the row, and when.
	Client string
	Since  time.Time
}

// Above reports whether r is above what old records, the only way a row may
// change: a higher token, or the same token whose owner was not yet known.
func (r Row) Above(old Row) bool {
	return r.Token > old.Token ||
		r.Token == old.Token && r.Token != NoToken && old.Owner == NoOwner && r.Owner != NoOwner
}
