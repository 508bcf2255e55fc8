package lockclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fencegate/fence"
)

// errMaxWait is the cause with which a wait ends that used up WithMaxWait.
var errMaxWait = errors.New("the maximum wait is over")

// waitFor takes the lock in Redis, trying until wait is over.
func (c *Client) waitFor(ctx context.Context, set settings, r fence.Resource, wait time.Duration) (*Lock, error) {
	within, cancel := context.WithTimeoutCause(ctx, wait, errMaxWait)
	defer cancel()
	begin := time.Now()
	var w *waiter
	var got *Lock
	defer func() {
		if w != nil {
			w.leave(got != nil)
		}
	}()
	full := callTimeout(set.ttl)
	timeout := full
	var fault error // why Redis has not told who holds the lock
	for n := 0; ; {
		if err := c.ended(ctx); err != nil {
			return nil, err
		}
		l, left, err := c.attempt(ctx, set, r, timeout)
		if l != nil {
			got = l
			return l, nil
		}
		if err := c.ended(ctx); err != nil {
			return nil, err
		}
		if err != nil && !transient(err) {
			return nil, err
		}
		delay := backoff(n)
		switch {
		case err == nil:
			fault = nil
			if wait > 0 && w == nil {
				w = c.waiters.join(c, set.keys.channel(r))
			}
			delay = untilExpiry(delay, left)
		case timeout == full || fault != nil:
			fault = err // and not the end of the wait, which cuts the last try short
		}
		if c.nextChance(within, w, delay) {
			n++
		}
		remaining := wait - time.Since(begin)
		if remaining <= 0 && c.ended(ctx) == nil {
			if fault != nil {
				return nil, fault
			}
			return nil, fmt.Errorf("%s: %w: waited %v", r, ErrNotAcquired, wait)
		}
		timeout = min(full, max(remaining, backoffBase))
	}
}

// nextChance waits until the lock may be free, and reports true when it was
// only the back-off that ended.
func (c *Client) nextChance(ctx context.Context, w *waiter, delay time.Duration) bool {
	var woken <-chan struct{}
	if w != nil {
		woken = w.woken
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-woken:
	case <-ctx.Done():
	case <-c.life.Done():
	}
	return false
}

// ended returns why an acquisition must stop, if it must.
func (c *Client) ended(ctx context.Context) error {
	switch {
	case c.life.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return notAcquired(ctx)
	}
	return nil
}

// notAcquired matches ErrNotAcquired, ctx.Err() and the context's cause.
func notAcquired(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", ErrNotAcquired, cause)
	}
	return fmt.Errorf("%w: %w: %w", ErrNotAcquired, err, cause)
}
