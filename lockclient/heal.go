package lockclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fencegate/fence"
)

// healRounds is how often a claim is repeated with a higher token. One is
// enough unless others with higher tokens use the resource at this moment.
const healRounds = 5

// claim makes the fence cut off all earlier holders. While the fence knows a
// token above ours (Redis lost its counter), a higher one is minted; while it
// cannot answer yet, the claim waits, until ctx ends. The keeper renews the
// lease meanwhile.
func (l *Lock) claim(ctx context.Context) error {
	live, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	defer context.AfterFunc(l.c.life, func() { cancel(ErrClosed) })()

	var notYet error // why the fence could not answer an earlier try
	for rounds, waits := 0, 0; ; {
		tree, err := l.claimOnce(live, l.Stamp())
		if notYet != nil && live.Err() != nil && errors.Is(err, ErrFenceUnreachable) {
			// Cut short, this try tells nothing; the earlier one tells why it took
			// so long.
			return l.claimEnded(ctx, notYet)
		}
		var fenced *FencedError
		var refused *ClaimError
		switch {
		case err == nil:
			l.mu.Lock()
			l.tree = tree
			l.mu.Unlock()
			return l.check()
		case errors.As(err, &fenced) && rounds < healRounds:
			rounds++
			if err := l.remint(live, fenced); err != nil {
				return l.claimEnded(ctx, err)
			}
		case errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable:
			notYet = fmt.Errorf("%w: %w", ErrNotAcquired, err)
			if !waitForFence(live, refused.RetryAfter, waits) {
				return l.claimEnded(ctx, notYet)
			}
			waits++
		default:
			return l.claimEnded(ctx, err)
		}
	}
}

// waitForFence waits before the claim is repeated, and reports false if there
// is no time for it. Retry-After is in whole seconds and may be rounded up.
func waitForFence(ctx context.Context, after time.Duration, n int) bool {
	after = max(after, backoff(n))
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		if after >= left+time.Second {
			return false
		}
		after = min(after, left/2)
	}
	// Below the base the remaining time is used up, not a reason to spin.
	return pause(ctx, max(after, backoffBase))
}

// claimEnded puts what ended the claim from outside before what it saw.
func (l *Lock) claimEnded(ctx context.Context, err error) error {
	var lost *LostError
	switch {
	case errors.As(context.Cause(l.ctx), &lost):
		return lost
	case l.c.life.Err() != nil:
		return ErrClosed
	case errors.Is(context.Cause(ctx), errMaxWait):
		// The deadline is ours, the caller's context has not ended.
		var refused *ClaimError
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrFenceUnreachable, errMaxWait)
	case ctx.Err() != nil:
		return fmt.Errorf("%w; the claim: %w", notAcquired(ctx), err)
	}
	return err
}

// remint gives this lock a new owner and a token above what the fence has
// seen, while it is still the holder in Redis. The new owner keeps writes of
// whoever holds the same number apart from ours.
func (l *Lock) remint(ctx context.Context, seen *FencedError) error {
	old := l.Stamp()
	above := max(seen.Highest, old.Token)
	fresh := newOwner()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for n := 0; ; n++ {
		sent := l.c.clock.now()
		a := l.c.ask(ctx, callTimeout(l.set.ttl), remintScript,
			[]string{l.set.keys.lock(l.resource), l.set.keys.counter()},
			string(old.Owner), string(fresh), l.set.ttl.Milliseconds(), above.String(), l.set.tokens())
		if a.err != nil {
			// It may have been done: the same new owner is asked for again, and
			// if that stays unanswered, its key is removed later.
			if transient(a.err) && pause(ctx, min(backoff(n), l.set.ttl/10)) {
				continue
			}
			l.c.work.run(func() { l.c.discard(l.set, l.resource, fresh) })
			return a.err
		}
		switch a.status {
		case statusMissing:
			return l.lose(Expired, errKeyGone)
		case statusOther:
			return l.lose(Stolen, nil)
		case statusExhausted:
			if seen.Highest >= fence.DefaultMaxToken && old.Token < seen.Highest { // else it is the counter
				return fmt.Errorf("%w: the fence's highest token for %s is %s, and marks do not go down: lock another name",
					ErrTokenExhausted, l.resource, seen.Highest)
			}
		case statusBounded:
			limit, _ := fence.ParseToken(a.value, fence.MaxToken)
			return &TokenGapError{Resource: l.resource, Highest: seen.Highest, Limit: limit, CounterKey: l.set.keys.counter()}
		}
		token, err := a.token(l.set.keys)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.stamp.Token, l.stamp.Owner = token, fresh
		l.mu.Unlock()
		l.extend(sent)
		return nil
	}
}
