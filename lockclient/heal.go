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
func (s *shared) claim(ctx context.Context) error {
	live, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	held := s.Context()
	defer context.AfterFunc(held, func() { cancel(context.Cause(held)) })()
	defer context.AfterFunc(s.c.life, func() { cancel(ErrClosed) })()

	var notYet error // why the fence could not answer an earlier try
	for rounds, waits := 0, 0; ; {
		tree, err := s.claimOnce(live, s.Stamp())
		if notYet != nil && live.Err() != nil && errors.Is(err, ErrFenceUnreachable) {
			// Cut short, this try tells nothing; the earlier one tells why it took
			// so long.
			return s.claimEnded(ctx, notYet)
		}
		var fenced *FencedError
		var refused *ClaimError
		switch {
		case err == nil:
			s.mu.Lock()
			s.tree = tree
			s.mu.Unlock()
			return s.check()
		case errors.As(err, &fenced) && rounds < healRounds:
			rounds++
			if err := s.remint(live, fenced); err != nil {
				return s.claimEnded(ctx, err)
			}
		case errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable:
			notYet = fmt.Errorf("%w: %w", ErrNotAcquired, err)
			if !waitForFence(live, refused.RetryAfter, waits) {
				return s.claimEnded(ctx, notYet)
			}
			waits++
		default:
			return s.claimEnded(ctx, err)
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
func (s *shared) claimEnded(ctx context.Context, err error) error {
	var lost *LostError
	switch {
	case errors.As(context.Cause(s.Context()), &lost):
		return lost
	case s.c.life.Err() != nil:
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
func (s *shared) remint(ctx context.Context, seen *FencedError) error {
	old := s.Stamp()
	above := max(seen.Highest, old.Token)
	fresh := newOwner()
	turn := s.turns()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for n := 0; ; n++ {
		ttl, last := s.term()
		s.mu.Lock()
		at := s.at
		s.mu.Unlock()
		a := s.c.nodes.remint(ctx, callTimeout(s.set.ttl), s.set.request(old.Owner, ttl), fresh, above, at)
		if a.err != nil {
			// It may have been done: the same new owner is asked for again, and
			// if that stays unanswered, its key is removed later.
			if transient(a.err) && pause(ctx, min(backoff(n), s.set.ttl/10)) {
				continue
			}
			s.c.nodes.discard(s.set.request(fresh, s.set.ttl))
			return a.err
		}
		switch a.status {
		case statusMissing:
			return s.lose(Expired, s.keyGone(a.value))
		case statusOther:
			return s.lose(Stolen, nil)
		case statusExhausted:
			if seen.Highest >= fence.DefaultMaxToken && old.Token < seen.Highest { // else it is the counter
				return fmt.Errorf("%w: the fence's highest token for %s is %s, and marks do not go down: lock another name",
					ErrTokenExhausted, seen.Resource, seen.Highest)
			}
		case statusBounded:
			limit, _ := fence.ParseToken(a.value, fence.MaxToken)
			return &TokenGapError{Resource: seen.Resource, Highest: seen.Highest, Limit: limit, CounterKey: s.set.space.counter()}
		}
		token, err := a.token(s.set.space.counter())
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.stamp.Token, s.stamp.Owner, s.at = token, fresh, a.at
		s.mu.Unlock()
		s.extend(newLease(a.sent, ttl), last)
		return nil
	}
}
