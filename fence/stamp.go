package fence

import (
	"strings"
	"unicode/utf8"
)

// Stamp is what a request carries to show which lock acquisition it acts for.
type Stamp struct {
	Token Token
	Owner Owner
	// Client names host, process or job for the audit. It decides nothing.
	Client string
}

// MaxClientLen is the length in bytes at which a client name is cut.
const MaxClientLen = 128

// CleanClient makes a client-given name fit for logs and the ledger: cut at
// MaxClientLen bytes, never inside a character, with control characters and
// invalid UTF-8 replaced by "?".
func CleanClient(s string) string {
	if len(s) > MaxClientLen {
		n := MaxClientLen
		for n > MaxClientLen-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}
