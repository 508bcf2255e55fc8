package fence

import (
	"errors"
	"fmt"
	"strconv"
)

// Token is a fencing token: a number that rises with every lock acquisition,
// so that of two holders of one lock the later one has the higher token.
// Valid tokens are 1…max_token; NoToken means that a request carries none.
type Token uint64

const (
	// NoToken is what a request without a token carries, and what a resource
	// that no tokened request has touched is marked with.
	NoToken Token = 0

	// DefaultMaxToken is 2^53−1, the largest integer that JSON readers and Lua
	// scripts keep exact (RFC 8259 section 6).
	DefaultMaxToken Token = 1<<53 - 1

	// MaxToken is 2^63−1, the highest value that max_token may be set to.
	MaxToken Token = 1<<63 - 1
)

// ErrTokenSyntax means that a text is not [1-9][0-9]{0,18}.
var ErrTokenSyntax = errors.New("a token is a decimal integer without sign, spaces or leading zeros")

// TokenRangeError means that a token is well formed but above the highest
// token that is accepted.
type TokenRangeError struct {
	Text string
	Max  Token
}

func (e *TokenRangeError) Error() string {
	return fmt.Sprintf("token %s is above the highest accepted token %d", e.Text, e.Max)
}

// ParseToken reads a token in its only spelling, [1-9][0-9]{0,18}, and checks
// that it is at most max. It returns ErrTokenSyntax or a *TokenRangeError.
func ParseToken(s string, max Token) (Token, error) {
	if len(s) == 0 || s[0] == '0' {
		return NoToken, ErrTokenSyntax
	}
	var n Token
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return NoToken, ErrTokenSyntax
		}
		n = 10*n + Token(s[i]-'0') // 19 digits always fit
	}
	if len(s) > 19 || n > max {
		return NoToken, &TokenRangeError{Text: abbreviate(s, 40), Max: max}
	}
	return n, nil
}

// String returns the token in decimal, "0" for NoToken.
func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// abbreviate keeps what an error shows of a client's text short.
func abbreviate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
