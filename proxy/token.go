package proxy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"fencegate/fence"
)

// maxAhead is how far a token that tells the time may be ahead of our clock.
const maxAhead = 10 * time.Minute

// errImplausible means that a token is no time at which a lock was taken.
var errImplausible = errors.New("implausible")

// parseToken reads a token, and adds to the syntax error what is wrong in the
// common cases.
func (p *Proxy) parseToken(text string) (fence.Token, error) {
	token, err := fence.ParseToken(text, p.opts.MaxToken)
	switch {
	case err == nil:
		return token, p.checkTime(token)
	case text == "":
		return 0, errors.New("is empty; was the variable that holds the token set?")
	case strings.Contains(text, ","):
		return 0, errors.New("is a list; send exactly one token")
	}
	return 0, err
}

// checkTime refuses a token from the future where tokens tell the time: marked
// with it, a resource would be closed to every holder until then.
func (p *Proxy) checkTime(token fence.Token) error {
	if p.opts.TokenKind != fence.TimeTokens {
		return nil
	}
	now := p.opts.Now()
	if token <= fence.Token(max(0, now.Add(maxAhead).UnixMicro())) {
		return nil
	}
	return fmt.Errorf("token %s means %s, which is more than %s ahead of fencegate's clock, %s: tokens are %w here unless they are microseconds since 1970. "+
		"Where the token is from (lockclient makes such), or one of the two clocks, is wrong",
		token, time.UnixMicro(int64(token)).UTC().Format(time.RFC3339), maxAhead, now.UTC().Format(time.RFC3339), errImplausible)
}

// refuseToken answers a token that parseToken did not accept; carrier says what
// it was sent in.
func refuseToken(carrier string, err error) *Refusal {
	ref := &Refusal{Reason: reasonTokenMalformed, Detail: carrier + ": " + err.Error() + "."}
	if errors.Is(err, errImplausible) {
		ref.Reason = reasonTokenImplausible
	}
	return ref
}
