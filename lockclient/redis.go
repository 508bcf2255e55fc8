package lockclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// answer is what a script returned, or why it did not.
type answer struct {
	status string
	value  string
	note   string  // the third element, if any
	sent   instant // before the first byte was sent
	err    error
	at     members // where "ok" holds
	unsent bool    // with err: there is nothing to clean up
	// partial is set beside "held" when it is not a quorum that says so.
	partial error
}

// callTimeout bounds one call to Redis. A quarter of the TTL leaves room for
// two further tries between a renewal's due time and the deadline.
func callTimeout(ttl time.Duration) time.Duration { return min(ttl/4, 2*time.Second) }

// abandoned names what ended a call early. It does not wrap the deadline of
// the call itself: callers compare with the error of their own context.
func abandoned(ctx context.Context, timeout time.Duration) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w within %v", ErrRedisUnreachable, timeout)
	}
	return fmt.Errorf("%w: %w", ErrRedisUnreachable, context.Cause(ctx))
}

// transient reports whether a call may succeed when repeated: Redis gave no
// answer, or says that it is starting or failing over.
func transient(err error) bool {
	var split *QuorumError
	if errors.As(err, &split) {
		return split.retry
	}
	if errors.Is(err, ErrRedisUnreachable) {
		return true
	}
	for _, prefix := range []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN",
		"BUSY", "NOREPLICAS", "MOVED", "ASK", "ERR max number of clients"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// token reads the token of an "ok" answer, and turns the answers by which
// acquire and remint refuse into errors.
func (a answer) token(counterKey string) (fence.Token, error) {
	switch {
	case a.err != nil:
		return fence.NoToken, a.err
	case a.status == statusOK:
		t, err := fence.ParseToken(a.value, fence.DefaultMaxToken)
		if err != nil {
			return fence.NoToken, fmt.Errorf("redis: the lock key does not start with a token: %w", err)
		}
		return t, nil
	case a.status == statusExhausted:
		return fence.NoToken, fmt.Errorf("%w: %s is at %s; lower it once the fence's marks allow", ErrTokenExhausted, counterKey, a.value)
	case a.status == statusCounter:
		return fence.NoToken, fmt.Errorf("%w: %s holds %q; delete it (tokens then follow Redis' clock) or set it above the fence's highest token",
			ErrCounter, counterKey, a.value)
	default:
		return fence.NoToken, fmt.Errorf("redis: a script answered %q, which this client does not know", a.status)
	}
}
