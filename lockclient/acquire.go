package lockclient

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"fencegate/fence"
)

// claimWait is what the claim gets at least, however long the lock took.
const claimWait = time.Second

func (c *Client) acquire(ctx context.Context, path string, try bool, opts []Option) (*Lock, error) {
	set, err := c.defaults.with(opts)
	if err != nil {
		return nil, err
	}
	resource, err := fence.Canonical(path, set.names)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	l, err := c.acquireIn(ctx, set, resource, try)
	set.metrics.acquired(set.name, time.Since(begin), err)
	return l, err
}

func (c *Client) acquireIn(ctx context.Context, set settings, r fence.Resource, try bool) (*Lock, error) {
	begin := time.Now()
	wait := set.maxWait
	if try {
		wait = 0
	}
	l, err := c.waitFor(ctx, set, r, wait)
	if err != nil {
		return nil, err
	}
	if set.fence == nil {
		return l, nil
	}
	within, cancel := context.WithTimeoutCause(ctx, max(set.maxWait-time.Since(begin), claimWait), errMaxWait)
	defer cancel()
	if err := l.claim(within); err != nil {
		l.abandon()
		return nil, err
	}
	return l, nil
}

// attempt asks Redis once for the lock. It returns the lock; or, with no
// error, for how long another holds it.
func (c *Client) attempt(ctx context.Context, set settings, r fence.Resource, timeout time.Duration) (*Lock, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, abandoned(ctx, timeout)
	}
	owner := newOwner()
	sent := c.clock.now()
	out := make(chan answer, 1)
	c.work.run(func() {
		// The slot is held for as long as the connection is.
		defer func() { <-c.slots }()
		out <- c.run(ctx, acquireScript, []string{set.keys.lock(r), set.keys.counter()},
			string(owner), set.ttl.Milliseconds(), "0", set.tokens())
	})
	var a answer
	select {
	case a = <-out:
	case <-ctx.Done():
		c.work.run(func() {
			if late := <-out; late.err != nil || late.status == statusOK {
				c.discard(set, r, owner)
			}
		})
		return nil, 0, abandoned(ctx, timeout)
	}
	if a.err != nil {
		// Whatever the error is, an earlier try inside go-redis may have
		// taken the lock.
		c.work.run(func() { c.discard(set, r, owner) })
		return nil, 0, a.err
	}
	if a.status == statusHeld {
		ms, _ := strconv.ParseInt(a.value, 10, 64)
		return nil, time.Duration(ms) * time.Millisecond, nil
	}
	token, err := a.token(set.keys)
	if err != nil {
		return nil, 0, err
	}
	l := newLock(c, set, r, fence.Stamp{Token: token, Owner: owner, Client: set.client}, newLease(sent, set.ttl))
	if err := l.check(); err != nil {
		l.abandon()
		return nil, 0, fmt.Errorf("%w before the lease was over", ErrRedisUnreachable)
	}
	return l, 0, nil
}

// tokens is how the scripts are told what tokens follow.
func (s settings) tokens() string {
	if s.plain {
		return "plain"
	}
	return "time"
}

// newOwner returns 130 random bits in base 32.
func newOwner() fence.Owner { return fence.Owner(rand.Text()) }

// discardWait bounds the clean-up after a call with an unknown result.
const discardWait = 5 * time.Second

// discard frees a lock that an unanswered call may have taken. The call may
// still sit in a socket when Redis answers this one, so that "missing" is
// believed only after a few looks. What this misses ends with the TTL.
func (c *Client) discard(set settings, r fence.Resource, owner fence.Owner) {
	ctx, cancel := context.WithTimeout(context.Background(), min(set.ttl, discardWait))
	defer cancel()
	for n, looks := 0, 0; looks < 4; n++ {
		a := c.run(ctx, releaseScript, []string{set.keys.lock(r)}, string(owner), set.keys.channel(r))
		if a.err == nil {
			if a.status == statusOK {
				return
			}
			looks++
		}
		if !pause(ctx, backoff(n)) {
			return
		}
	}
}
