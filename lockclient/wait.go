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

// joinedTry is the back-off with which a waiter begins that has asked for a
// subscription: a message is likelier than luck.
const joinedTry = 4

// waitFor takes the lock, trying until wait is over.
func (c *Client) waitFor(ctx context.Context, want *wanted, wait time.Duration) (*Lock, error) {
	var within context.Context // ends with the wait; made when there is one
	begin := time.Now()
	var w *waiter
	var got *Lock
	defer func() {
		if w != nil {
			w.leave(got != nil)
		}
	}()
	full := callTimeout(want.ttl)
	timeout := full
	var fault error         // why Redis has not told who holds the lock
	var held fence.Resource // or what is held
	var partial error       // said by less than a quorum
	// stopped returns why the wait must end.
	stopped := func() error {
		err := c.ended(ctx)
		if err != nil && !held.IsZero() && errors.Is(err, ErrNotAcquired) {
			return &HeldError{Resource: held, Waited: time.Since(begin), Err: err}
		}
		return err
	}
	for n := 0; ; {
		if err := stopped(); err != nil {
			return nil, err
		}
		l, a, err := c.attempt(ctx, want, timeout)
		if l != nil {
			got = l
			return l, nil
		}
		if err != nil && !transient(err) && c.ended(ctx) == nil {
			return nil, err
		}
		if within == nil {
			var cancel context.CancelFunc
			within, cancel = context.WithDeadlineCause(ctx, begin.Add(wait), errMaxWait)
			defer cancel()
		}
		delay := backoff(n)
		switch {
		case err == nil:
			fault, partial = nil, a.partial
			i := want.keys.index(a.note)
			held = want.resources[i]
			if channel := want.keys.channels[i]; wait > 0 && (w == nil || w.channel != channel) {
				if w != nil {
					w.leave(false)
				}
				w = c.waiters.join(c, channel)
				n = max(n, joinedTry)
			}
			if w != nil {
				delay = w.pace(n)
			}
			delay = untilExpiry(delay, a.left())
		case timeout == full || fault != nil:
			fault = err // and not the end of the wait, which cuts the last try short
		}
		if err := stopped(); err != nil {
			return nil, err
		}
		if c.nextChance(within, w, delay) {
			n++
		}
		remaining := wait - time.Since(begin)
		if remaining <= 0 && c.ended(ctx) == nil {
			switch {
			case fault != nil:
				return nil, fault
			case partial != nil:
				return nil, &HeldError{held, wait, partial}
			}
			return nil, &HeldError{held, wait, ErrNotAcquired}
		}
		timeout = min(full, max(remaining, backoffBase))
	}
}

// nextChance waits until the lock may be free, and reports true when it was
// only the back-off that ended. Only the first waiter of a client for a lock
// looks for itself: the others would only hear the same.
func (c *Client) nextChance(ctx context.Context, w *waiter, delay time.Duration) bool {
	var woken, first <-chan struct{}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	due := timer.C
	if w != nil {
		woken = w.woken
		if !w.isFirst() {
			first, due = w.first, nil
		}
	}
	for {
		select {
		case <-due:
			return true
		case <-first: // the one before has just taken the lock
			first, due = nil, timer.C
			timer.Reset(w.pace(joinedTry))
		case <-woken:
			return false
		case <-ctx.Done():
			return false
		case <-c.life.Done():
			return false
		}
	}
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
