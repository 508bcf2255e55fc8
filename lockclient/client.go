package lockclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/redis/go-redis/v9"
)

// Client takes locks in one Redis, or in a quorum of several. It is safe for
// concurrent use.
type Client struct {
	nodes    nodes
	defaults settings
	clock    clock
	// slots bounds how many connections of the pool acquisitions use at once,
	// so that however many wait, a renewal finds one free.
	slots   chan struct{}
	waiters waiters
	keepers keepers
	bounds  bounds
	work    background
	checks  checks
	life    context.Context // ends with Close
	end     context.CancelCauseFunc
	http    *http.Client // for claims, when the caller brings none
}

// New returns a client that takes locks in rdb: a single Redis, a Sentinel
// failover client or a Cluster client. It does not talk to Redis yet, and does
// not close rdb. All faults in opts are reported at once.
//
// Set Options.ContextTimeoutEnabled on rdb: calls that a frozen Redis does not
// answer then give back their connections at once rather than after ReadTimeout,
// and those that nobody can cancel (Unlock always, Lock with a context such as
// context.Background()) cost no goroutine.
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	if rdb == nil {
		return nil, errors.New("lockclient: the redis client is nil")
	}
	n := newNode(0, rdb)
	c, err := newClient([]*node{n}, opts)
	if err != nil {
		return nil, err
	}
	c.nodes = newSingle(c, n)
	return c, nil
}

func newClient(all []*node, opts []Option) (*Client, error) {
	set, err := defaults().with(opts)
	if err != nil {
		return nil, err
	}
	c := &Client{
		defaults: set,
		clock:    systemClock{},
		slots:    make(chan struct{}, acquireSlots(all)),
		http:     &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	return c, nil
}

// acquireSlots is half of the smallest pool, 8 at most: an acquire takes well
// under a millisecond of Redis' time, more would only queue there.
func acquireSlots(all []*node) int {
	slots := 8
	for _, n := range all {
		slots = min(slots, n.poolSize()/2)
	}
	return max(1, slots)
}

// takeSlot reports false when ctx ended first.
func (c *Client) takeSlot(ctx context.Context) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	default:
	}
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *Client) giveSlot() { <-c.slots }

// Close ends waiting Lock calls with ErrClosed and returns when nothing runs
// in the background any more: calls that Redis has not answered, the clean-up
// after them, subscriptions. That takes up to go-redis' read timeout, or 5 s.
// Locks that are still held are renewed until they are released, which works
// after Close too.
func (c *Client) Close() error {
	c.end(ErrClosed)
	c.work.wait()
	c.http.CloseIdleConnections()
	return nil
}

// Lock takes the lock on the resource that an escaped URL path names, waiting
// up to WithMaxWait for its holder and for the fence. ctx bounds the wait only:
// the lock outlives it.
//
// Errors: a *fence.PathError for a path that names no resource; ErrNotAcquired
// when the wait was in vain, as a *HeldError that names who is in the way, with
// ctx.Err() if the context ended it; ErrRedisUnreachable, ErrRedisVersion,
// ErrTokenExhausted, ErrCounter, ErrClosed; from NewRedlock's clients also
// ErrNoQuorum; with a fence also ErrFenceUnreachable, *ClaimError, *FencedError,
// *TokenGapError and *LostError. After any of them nothing is held.
func (c *Client) Lock(ctx context.Context, path string, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, []string{path}, false, opts)
}

// TryLock is Lock that does not wait for another holder but returns
// ErrNotAcquired at once. It still gives the fence up to WithMaxWait.
func (c *Client) TryLock(ctx context.Context, path string, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, []string{path}, true, opts)
}

// LockMulti takes one lock on several resources, all or none: one token, one
// owner, one lease, one claim. Order and repetition of paths do not matter; up
// to 128. While one of them is held, none is taken and the holders of the others
// are not kept waiting. The errors are Lock's; HeldError names the resource that
// was in the way.
func (c *Client) LockMulti(ctx context.Context, paths []string, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, paths, false, opts)
}

// TryLockMulti is LockMulti that does not wait for other holders.
func (c *Client) TryLockMulti(ctx context.Context, paths []string, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, paths, true, opts)
}

// Do runs f while holding the lock. The context given to f ends with ctx, and
// with cause *LostError when the lock is lost; it carries the lock for
// WithReentrant. Do returns f's error joined with that of the release: work that
// f finished is in doubt if the result matches ErrNotHeld, while
// ErrRedisUnreachable alone only means that the next holder has to wait for the
// TTL.
func (c *Client) Do(ctx context.Context, path string, f func(context.Context, *Lock) error, opts ...Option) (err error) {
	l, err := c.Lock(ctx, path, opts...)
	if err != nil {
		return err
	}
	within, cancel := context.WithCancelCause(NewContext(ctx, l))
	stop := context.AfterFunc(l.Context(), func() { cancel(context.Cause(l.Context())) })
	defer func() {
		stop()
		cancel(nil)
		err = errors.Join(err, l.Unlock(ctx))
	}()
	return f(within, l)
}
