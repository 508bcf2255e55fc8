package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fencegate/fence"
)

// Floor is a global floor that an operator asks for. The zero value asks for
// none.
type Floor struct {
	Token fence.Token
	// Now is Token with the time of now, or what is above every token in the
	// ledger where that is more. Only for fence.TimeTokens.
	Now bool
}

// FloorError means that a floor does not suit the ledger.
type FloorError struct{ Text string }

func (e *FloorError) Error() string { return e.Text }

// ahead is how far clocks may be apart where tokens are times.
const ahead = 10 * time.Minute

// of returns the floor as a token, fence.NoToken for none.
func (f Floor) of(kind fence.TokenKind, now time.Time, highest fence.Token) (fence.Token, error) {
	floor, micros := f.Token, fence.Token(max(now.UnixMicro(), 0))
	switch {
	case f.Now && kind != fence.TimeTokens:
		return 0, &FloorError{"the floor cannot be now: the tokens of this ledger are no times (tokens: any): expected a number above every token ever given out"}
	case f.Now: // clocks may be apart
		floor = max(micros, min(highest, fence.MaxToken-1)+1)
	case kind == fence.TimeTokens && floor > micros+fence.Token(ahead.Microseconds()):
		return 0, &FloorError{fmt.Sprintf("the floor %s is in the future, in microseconds since 1970: until then every token would be refused: expected now", floor)}
	}
	if floor > fence.MaxToken {
		return 0, &FloorError{fmt.Sprintf("the floor %d is no token: expected at most %s", uint64(floor), fence.MaxToken)}
	}
	return floor, nil
}

// RaiseFloor raises the global floor of the ledger in the state directory dir,
// which nobody may be using; one that is higher stays. It returns the record as
// it was and as it is. The ledger is then not clean, so that the next start
// holds: a floor is for a ledger that was restored, and what was in flight when
// it was lost may still land. Errors are those of Open and a *FloorError.
func RaiseFloor(ctx context.Context, dir string, opts Options, floor Floor) (before, after fence.Meta, err error) {
	opts = opts.withDefaults()
	l, err := Open(ctx, dir, opts)
	if err != nil {
		return fence.Meta{}, fence.Meta{}, err
	}
	defer func() { err = errors.Join(err, l.Close(false)) }()
	if before, err = l.Meta(); err != nil {
		return before, before, err
	}
	token, err := floor.of(before.Kind, opts.Now(), fence.NoToken)
	if err != nil {
		return before, before, err
	}
	l.writer.Lock()
	err = l.changeMeta(func(m *fence.Meta) {
		m.Global = max(m.Global, token)
		m.Clean = false
	})
	l.writer.Unlock()
	if err != nil {
		return before, before, err
	}
	after, err = l.Meta()
	return before, after, err
}
