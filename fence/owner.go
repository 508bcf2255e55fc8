package fence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Owner identifies one lock acquisition: random, opaque, 1–128 visible ASCII
// characters, bound to the token of that acquisition. After a failover of the
// lock service two holders can be given the same token; the owner tells them
// apart. NoOwner means that a request carries none.
//
// An owner is a secret among equals: whoever knows it can pass as its holder.
// It is therefore never printed; Digest is what logs and answers show.
type Owner string

// NoOwner is what a request without an owner carries.
const NoOwner Owner = ""

// MaxOwnerLen is the longest accepted owner in bytes.
const MaxOwnerLen = 128

// ErrOwnerSyntax means that a text is not 1–128 visible ASCII characters.
var ErrOwnerSyntax = errors.New("an owner is 1 to 128 visible ASCII characters")

// ParseOwner checks that s is an owner, or returns ErrOwnerSyntax.
func ParseOwner(s string) (Owner, error) {
	if len(s) == 0 || len(s) > MaxOwnerLen {
		return NoOwner, ErrOwnerSyntax
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return NoOwner, ErrOwnerSyntax
		}
	}
	return Owner(s), nil
}

// Digest returns the first 8 hex digits of the owner's SHA-256, enough to tell
// owners apart in a log, or "" for NoOwner.
func (o Owner) Digest() string {
	if o == NoOwner {
		return ""
	}
	sum := sha256.Sum256([]byte(o))
	return hex.EncodeToString(sum[:4])
}

// String returns the digest, so that formatting an owner cannot leak it.
func (o Owner) String() string {
	if o == NoOwner {
		return "none"
	}
	return "sha256:" + o.Digest()
}

// Conflicts reports whether both owners are given and differ.
func (o Owner) Conflicts(other Owner) bool {
	return o != NoOwner && other != NoOwner && o != other
}

// GoString is String, for %#v.
func (o Owner) GoString() string { return o.String() }
