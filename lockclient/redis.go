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
	err    error
}

// callTimeout bounds one call to Redis. A quarter of the TTL leaves room for
// two further tries between a renewal's due time and the deadline.
func callTimeout(ttl time.Duration) time.Duration { return min(ttl/4, 2*time.Second) }

// ask runs a script and returns its answer, or ErrRedisUnreachable as soon as
// timeout has passed or ctx has ended. The script may then still take effect.
//
// It runs in the background because go-redis does not interrupt a socket read
// when a context ends (unless Options.ContextTimeoutEnabled is set), and a
// frozen Redis must not hold up the caller. That goroutine ends with go-redis'
// own read timeout at the latest; Close waits for it.
func (c *Client) ask(ctx context.Context, timeout time.Duration, s *redis.Script, keys []string, args ...any) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out := make(chan answer, 1)
	c.work.run(func() { out <- c.run(ctx, s, keys, args...) })
	select {
	case a := <-out:
		return a
	case <-ctx.Done():
		return answer{err: abandoned(ctx, timeout)}
	}
}

// abandoned names what ended a call early. It does not wrap the deadline of
// the call itself: callers compare with the error of their own context.
func abandoned(ctx context.Context, timeout time.Duration) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w within %v", ErrRedisUnreachable, timeout)
	}
	return fmt.Errorf("%w: %w", ErrRedisUnreachable, context.Cause(ctx))
}

func (c *Client) run(ctx context.Context, s *redis.Script, keys []string, args ...any) answer {
	got, err := s.Run(ctx, c.rdb, keys, args...).StringSlice()
	var served redis.Error
	switch {
	case err == nil && len(got) == 2:
		return answer{status: got[0], value: got[1]}
	case err == nil:
		return answer{err: fmt.Errorf("redis: a script answered %d values instead of 2", len(got))}
	case errors.As(err, &served):
		return answer{err: fmt.Errorf("redis: %w", err)}
	case ctx.Err() != nil:
		return answer{err: fmt.Errorf("%w: the call was given up", ErrRedisUnreachable)}
	default:
		return answer{err: fmt.Errorf("%w: %w", ErrRedisUnreachable, err)}
	}
}

// transient reports whether a call may succeed when repeated: Redis gave no
// answer, or says that it is starting or failing over.
func transient(err error) bool {
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
func (a answer) token(keys keyspace) (fence.Token, error) {
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
		return fence.NoToken, fmt.Errorf("%w: %s is at %s; lower it once the fence's marks allow", ErrTokenExhausted, keys.counter(), a.value)
	case a.status == statusCounter:
		return fence.NoToken, fmt.Errorf("%w: %s holds %q; delete it (tokens then follow Redis' clock) or set it above the fence's highest token",
			ErrCounter, keys.counter(), a.value)
	default:
		return fence.NoToken, fmt.Errorf("redis: a script answered %q, which this client does not know", a.status)
	}
}
