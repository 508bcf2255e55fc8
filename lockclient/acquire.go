package lockclient

import (
	"context"
	"crypto/rand"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

const (
	// claimWait is what the claim gets at least, however long the lock took.
	claimWait = time.Second
	// maxNames is how many resources one lock may cover: a script looks at all
	// of them while Redis serves nobody else.
	maxNames = 128
)

// wanted is what one call of Lock asks for.
type wanted struct {
	settings
	resources []fence.Resource // sorted, each once
	keys      lockKeys
}

// want resolves names: sorted, so that a lock has one order of names however
// it is asked for, and without repetitions.
func (s settings) want(paths []string) (*wanted, error) {
	if len(paths) == 0 || len(paths) > maxNames {
		return nil, fmt.Errorf("lockclient: %d names, one lock takes 1 to %d", len(paths), maxNames)
	}
	w := &wanted{settings: s, resources: make([]fence.Resource, 0, len(paths))}
	var faults []error
	for _, p := range paths {
		r, err := fence.Canonical(p, s.names)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		w.resources = append(w.resources, r)
	}
	switch len(faults) {
	case 0:
	case 1:
		return nil, faults[0]
	default:
		return nil, &multierror.Error{Errors: faults}
	}
	if len(paths) > 1 {
		sort.Slice(w.resources, func(i, j int) bool { return w.resources[i].Key() < w.resources[j].Key() })
		once := w.resources[:1]
		for _, r := range w.resources[1:] {
			if r != once[len(once)-1] {
				once = append(once, r)
			}
		}
		w.resources = once
	}
	w.keys = s.space.of(w.resources)
	return w, nil
}

// request is the same in every call for one acquisition but for owner and TTL.
func (w *wanted) request(owner fence.Owner, ttl time.Duration) request {
	return request{keys: w.keys, owner: owner, ttl: ttl, plain: w.plain}
}

func (c *Client) acquire(ctx context.Context, paths []string, try bool, opts []Option) (*Lock, error) {
	set, err := c.defaults.with(opts)
	if err != nil {
		return nil, err
	}
	want, err := set.want(paths)
	if err != nil {
		return nil, err
	}
	if set.reentrant {
		if l, err := c.reenter(ctx, want); l != nil || err != nil {
			return l, err
		}
	}
	if set.metrics == nil {
		return c.acquireChecked(ctx, want, try)
	}
	begin := time.Now()
	l, err := c.acquireChecked(ctx, want, try)
	set.metrics.acquired(set.name, begin, err)
	return l, err
}

func (c *Client) acquireIn(ctx context.Context, want *wanted, try bool) (*Lock, error) {
	begin := time.Now()
	wait := want.maxWait
	if try {
		wait = 0
	}
	l, err := c.waitFor(ctx, want, wait)
	if err != nil {
		return nil, err
	}
	if want.fence == nil {
		return l, nil
	}
	within, cancel := context.WithTimeoutCause(ctx, max(want.maxWait-time.Since(begin), claimWait), errMaxWait)
	defer cancel()
	if err := l.claim(within); err != nil {
		l.abandon()
		return nil, err
	}
	return l, nil
}

// attempt asks once for the lock. It returns the lock; or, with no error, the
// answer that says who holds it and for how long.
func (c *Client) attempt(ctx context.Context, want *wanted, timeout time.Duration) (*Lock, answer, error) {
	ttl, last := want.ttl, false
	if want.maxHold > 0 && want.maxHold <= ttl {
		ttl, last = want.maxHold, true
	}
	r := want.request(newOwner(), ttl)
	a := c.nodes.acquire(ctx, timeout, r)
	if a.err != nil || a.status == statusHeld {
		return nil, a, a.err
	}
	token, err := a.token(want.space.counter())
	if err != nil {
		return nil, a, err
	}
	if a.note == noteExpired {
		want.metrics.expiredBefore(want.name)
	}
	le, now := newLease(a.sent, ttl), c.clock.now()
	l := newLock(c, want, fence.Stamp{Token: token, Owner: r.owner, Client: want.client}, le, a.at, last, now)
	if le.left(now) == 0 {
		l.abandon()
		return nil, a, fmt.Errorf("%w before the lease was over", ErrRedisUnreachable)
	}
	return l, a, nil
}

// left is for how long the holder's key lasts, as a "held" answer says.
func (a answer) left() time.Duration {
	ms, _ := strconv.ParseInt(a.value, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// newOwner returns 130 random bits in base 32.
func newOwner() fence.Owner { return fence.Owner(rand.Text()) }
