package lockclient

import (
	"context"
	"errors"
	"fmt"
)

type carriedKey struct{}

// carried is a lock in a context, and those that were there before.
type carried struct {
	lock   *shared
	before *carried
}

// NewContext returns a context that carries l, so that a Lock, TryLock or Do
// with WithReentrant further down returns another handle to it. The context
// given to Do's function carries its lock already.
func NewContext(ctx context.Context, l *Lock) context.Context {
	before, _ := ctx.Value(carriedKey{}).(*carried)
	return context.WithValue(ctx, carriedKey{}, &carried{l.shared, before})
}

// reenter returns another handle to a lock that ctx carries and that covers all
// that is wanted; neither lock nor error if there is none.
func (c *Client) reenter(ctx context.Context, want *wanted) (*Lock, error) {
	at, _ := ctx.Value(carriedKey{}).(*carried)
	for ; at != nil; at = at.before {
		s := at.lock
		if s.c != c || s.set.space != want.space {
			continue
		}
		covered, overlaps := s.coverage(want)
		if !overlaps {
			continue
		}
		if err := s.check(); errors.Is(err, ErrReleased) {
			continue // what is left of it is only in the context
		} else if err != nil {
			return nil, err
		}
		if !covered {
			return nil, &HeldError{Resource: want.resources[0], Err: fmt.Errorf(
				"%w: part of what is wanted is held by the lock that the context carries, on %s, and waiting would never end",
				ErrNotAcquired, s.names())}
		}
		if s.hold() {
			return &Lock{shared: s}, nil
		}
	}
	return nil, nil
}

// coverage tells whether this lock covers all that is wanted, and whether the
// wanted lock could not be taken beside it.
func (s *shared) coverage(want *wanted) (all, overlaps bool) {
	all = true
	for _, r := range want.resources {
		i := s.match(r)
		all = all && i >= 0 && (!want.tree || s.isTree(i))
		overlaps = overlaps || i >= 0 && s.set.resources[i] == r
	}
	return all, overlaps || all
}

// hold adds a handle, and reports false when none is left to add it to.
func (s *shared) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return false
	}
	s.handles++
	return true
}
