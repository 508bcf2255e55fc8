package fence

import (
	"fmt"
	"strings"
)

// ResourceOf returns the resource of a fence key that was made by Canonical,
// as a ledger stores it.
func ResourceOf(key string) Resource { return Resource{key} }

// Key returns the fence key: decoded, for ledgers and for lock names.
func (r Resource) Key() string { return r.key }

// IsZero reports whether r names nothing.
func (r Resource) IsZero() bool { return r.key == "" }

// String returns an escaped path whose canonical form is r, for answers, logs
// and everything that a person may paste into a URL. Only what has to be is
// escaped.
func (r Resource) String() string {
	if !strings.ContainsAny(r.key, "%?# \"<>") {
		return r.key
	}
	var b strings.Builder
	for i := range len(r.key) {
		switch c := r.key[i]; c {
		case '%', '?', '#', ' ', '"', '<', '>':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Parent returns the resource one level up; the root has none.
func (r Resource) Parent() (Resource, bool) {
	if r.key == "/" || r.key == "" {
		return Resource{}, false
	}
	if i := strings.LastIndexByte(r.key, '/'); i > 0 {
		return Resource{r.key[:i]}, true
	}
	return Root, true
}

// Covers reports whether other is r itself or below it.
func (r Resource) Covers(other Resource) bool {
	if r == other || r == Root {
		return true
	}
	return len(other.key) > len(r.key) && other.key[len(r.key)] == '/' && other.key[:len(r.key)] == r.key
}

// Fold returns r as a store that ignores case compares it.
func (r Resource) Fold() Resource { return Resource{foldCase(r.key)} }
