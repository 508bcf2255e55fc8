package lockclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/redis/go-redis/v9"
)

// Client takes locks in one Redis. It is safe for concurrent use.
type Client struct {
	rdb      redis.UniversalClient
	defaults settings
	clock    clock
	// slots bounds how many connections of the pool acquisitions use at once,
	// so that however many wait, a renewal finds one free.
	slots   chan struct{}
	waiters waiters
	work    background
	life    context.Context // ends with Close
	end     context.CancelCauseFunc
	http    *http.Client // for claims, when the caller brings none
}

// New returns a client that takes locks in rdb: a single Redis, a Sentinel
// failover client or a Cluster client. It does not talk to Redis yet, and does
// not close rdb. All faults in opts are reported at once.
//
// With Options.ContextTimeoutEnabled set on rdb, calls that a frozen Redis does
// not answer give back their connections at once rather than after ReadTimeout.
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	if rdb == nil {
		return nil, errors.New("lockclient: the redis client is nil")
	}
	set, err := defaults().with(opts)
	if err != nil {
		return nil, err
	}
	c := &Client{
		rdb:      rdb,
		defaults: set,
		clock:    systemClock{},
		slots:    make(chan struct{}, acquireSlots(rdb)),
		http:     &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	return c, nil
}

// acquireSlots is half of the pool, 8 at most: an acquire takes well under a
// millisecond of Redis' time, more would only queue there.
func acquireSlots(rdb redis.UniversalClient) int {
	size := 0
	switch r := rdb.(type) {
	case *redis.Client:
		size = r.Options().PoolSize
	case *redis.ClusterClient:
		size = r.Options().PoolSize
	}
	return max(1, min(size/2, 8))
}

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
// when the wait was in vain, with ctx.Err() if the context ended it;
// ErrRedisUnreachable, ErrTokenExhausted, ErrCounter, ErrClosed; with a fence
// also ErrFenceUnreachable, *ClaimError, *FencedError, *TokenGapError and
// *LostError. After any of them nothing is held.
func (c *Client) Lock(ctx context.Context, path string, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, path, false, opts)
}

// TryLock is Lock that does not wait for another holder but returns
// ErrNotAcquired at once. It still gives the fence up to WithMaxWait.
func (c *Client) TryLock(ctx context.Context, path string, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, path, true, opts)
}

// Do runs f while holding the lock. The context given to f ends with ctx, and
// with cause *LostError when the lock is lost. Do returns f's error joined with
// that of the release: work that f finished is in doubt if the result matches
// ErrNotHeld, while ErrRedisUnreachable alone only means that the next holder
// has to wait for the TTL.
func (c *Client) Do(ctx context.Context, path string, f func(context.Context, *Lock) error, opts ...Option) (err error) {
	l, err := c.Lock(ctx, path, opts...)
	if err != nil {
		return err
	}
	within, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.Context(), func() { cancel(context.Cause(l.Context())) })
	defer func() {
		stop()
		cancel(nil)
		err = errors.Join(err, l.Unlock(ctx))
	}()
	return f(within, l)
}
