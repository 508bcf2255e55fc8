package lockclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fencegate/fence"
)

// releaseWait bounds the call to Redis inside Unlock.
const releaseWait = 2 * time.Second

// Lock is a lease on one resource, or on several taken together, renewed in the
// background until Unlock. Its token and owner do not change. All methods are
// safe for concurrent use. With WithReentrant several Locks are handles to one
// lease, which ends with the last Unlock.
type Lock struct {
	*shared
	unlocked atomic.Bool // this handle
}

// shared is what all handles to one lease have in common.
type shared struct {
	c        *Client
	set      *wanted
	begun    instant   // when the acquisition was first sent
	acquired time.Time // for the metrics, else zero

	// Of keepers, which runs keep when there is something to look after.
	due        time.Time
	next, prev *shared
	waits      bool
	kept       sync.WaitGroup // done when keep has returned

	mu sync.Mutex
	// Of these nil ones are made when they are asked for: most locks are given
	// back before anybody does.
	ctx    context.Context // ends with the lease
	end    context.CancelCauseFunc
	lostCh chan struct{}
	turn   chan struct{} // see turns

	stamp      fence.Stamp
	lease      lease
	at         members // the nodes that hold the lock
	last       bool    // the lease reaches WithMaxHold: no more renewals
	tree       []bool  // what the claim or WithTree says is covered, by resource
	renewErr   error
	lost       *LostError
	handles    int
	released   bool
	unanswered map[string]bool // writes whose fate is unknown, see Transport
}

// newLock starts renewing a lock that Redis has just given, as it is known now.
func newLock(c *Client, want *wanted, stamp fence.Stamp, le lease, at members, last bool, now instant) *Lock {
	// The first handle and what it handles are one piece of memory.
	both := &struct {
		Lock
		shared
	}{shared: shared{
		c: c, set: want, begun: le.sent,
		stamp: stamp, lease: le, at: at, last: last, handles: 1,
	}}
	s := &both.shared
	both.Lock.shared = s
	if want.tree {
		s.tree = slices.Repeat([]bool{true}, len(want.resources))
	}
	if want.metrics != nil {
		s.acquired = time.Now()
	}
	s.kept.Add(1)
	c.keepers.add(s, min(renewAfter(want.ttl), keepTick, le.left(now)))
	return &both.Lock
}

// String shows no owner, whatever verb prints the lock.
func (l *Lock) String() string {
	return fmt.Sprintf("lock on %s (token %s)", l.names(), l.Token())
}

// GoString is String, for %#v.
func (l *Lock) GoString() string { return l.String() }

// names lists what is locked, for messages.
func (s *shared) names() string {
	var b strings.Builder
	for i, r := range s.set.resources {
		switch {
		case i == 8:
			fmt.Fprintf(&b, " and %d more", len(s.set.resources)-i)
			return b.String()
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(r.String())
	}
	return b.String()
}

// Token returns the lock's token, higher than that of every earlier holder.
func (s *shared) Token() fence.Token { return s.Stamp().Token }

// Stamp returns what a request must carry to act for this lock, for programs
// that cannot use Transport. Its owner is a secret: do not log it.
func (s *shared) Stamp() fence.Stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stamp
}

// Resource returns what is locked; the first of Resources if it is several.
func (s *shared) Resource() fence.Resource { return s.set.resources[0] }

// Resources returns all that is locked, sorted by fence key.
func (s *shared) Resources() []fence.Resource { return slices.Clone(s.set.resources) }

// Tree reports whether the lock covers everything below its resource too:
// WithTree was given, or the fence's route says so. Of several resources it
// speaks of the first.
func (s *shared) Tree() bool { return s.isTree(0) }

func (s *shared) isTree(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree != nil && s.tree[i]
}

// Context ends with the lease: with a *LostError as its cause when the lock is
// lost, with ErrReleased after the last Unlock. It does not descend from the
// context given to Lock, which bounds only the wait; Do's does.
func (s *shared) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.end = context.WithCancelCause(context.Background())
		switch {
		case s.lost != nil:
			s.end(s.lost)
		case s.released:
			s.end(ErrReleased)
		}
	}
	return s.ctx
}

// Lost returns a channel that is closed when the lock is lost. It stays open
// after Unlock.
func (s *shared) Lost() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lostCh == nil {
		s.lostCh = make(chan struct{})
		if s.lost != nil {
			close(s.lostCh)
		}
	}
	return s.lostCh
}

// turns returns a channel that is filled by whoever asks Redis to change this
// lock's keys: a renewal with the old owner must not meet a re-mint under way.
func (s *shared) turns() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		s.turn = make(chan struct{}, 1)
	}
	return s.turn
}

// Deadline returns when the lease ends, by the wall clock, unless a renewal
// extends it. Remaining is not fooled when that clock is set.
func (s *shared) Deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.deadline()
}

// Remaining returns how long the lease holds if no renewal succeeds any more;
// 0 when it is over, lost or released.
func (s *shared) Remaining() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.lost != nil {
		return 0
	}
	return s.lease.left(s.c.clock.now())
}

// Err returns nil while the lease holds, else ErrReleased or a *LostError. It
// reads the clock, and so notices a lease that ran out during a pause before
// any timer has.
func (l *Lock) Err() error { return l.check() }

func (l *Lock) check() error {
	if l.unlocked.Load() {
		return ErrReleased
	}
	return l.shared.check()
}

// Unlock releases the lock and stops renewing. It works when ctx is cancelled:
// of ctx only the values are used, and Redis is given at most 2 s. Where other
// handles to the lock are left (WithReentrant) only this one ends.
//
// Errors: ErrReleased when called again; ErrLeaseExpired when the lease had run
// out, ErrTakenOver when a later acquisition holds the lock, both matching
// ErrNotHeld and telling that work done under the lock may not have been alone;
// ErrRedisUnreachable when the next holder has to wait for the TTL.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.unlocked.Swap(true) {
		return ErrReleased
	}
	lost, a, last := l.finish(ctx)
	if last {
		l.set.metrics.held(l.set.name, l.acquired)
	}
	switch {
	case lost != nil:
		if last {
			l.set.metrics.mismatch(l.set.name)
		}
		return lost.notHeld()
	case !last:
		return nil
	case a.err != nil:
		return fmt.Errorf("release %s: %w", l.names(), a.err)
	case a.status == statusOK:
		return nil
	}
	l.set.metrics.mismatch(l.set.name)
	if a.status == statusOther {
		return ErrTakenOver
	}
	return fmt.Errorf("%w: %w", ErrLeaseExpired, errKeyGone)
}

// abandon gives back a lock that Lock will not return. The error that made it
// give up says more than a failure here could, which only means that the next
// holder has to wait for the TTL.
func (l *Lock) abandon() { _, _, _ = l.finish(context.Background()) }

// finish ends one handle. With the last it ends the lease and its renewal, and
// frees the keys that are ours. It returns how the lease had been lost, if it
// had, what Redis answered, and whether this was the last handle.
func (s *shared) finish(ctx context.Context) (lost *LostError, a answer, last bool) {
	_ = s.check() // a lease that is over is lost, not released
	s.mu.Lock()
	lost = s.lost
	s.handles--
	if s.handles > 0 {
		s.mu.Unlock()
		return lost, answer{}, false
	}
	s.released = true
	if s.end != nil {
		s.end(ErrReleased) // no effect on a lost lock, whose cause is set
	}
	s.mu.Unlock()

	if !s.c.keepers.remove(s) {
		s.kept.Wait() // it ends with the context
	}
	s.mu.Lock()
	r, at := s.set.request(s.stamp.Owner, s.set.ttl), s.at
	s.mu.Unlock()
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if lost != nil && lost.Reason != Fenced {
		// The key is gone, another's, or about to expire: nothing to wait for.
		s.c.work.run(func() { s.c.nodes.release(ctx, releaseWait, r, at) })
		return lost, answer{}, true
	}
	return lost, s.c.nodes.release(ctx, releaseWait, r, at), true
}

// check ends a lease that the clock says is over, and returns nil only while
// it holds.
func (s *shared) check() error {
	s.mu.Lock()
	released, lost, over := s.released, s.lost, s.lease.left(s.c.clock.now()) == 0
	renewErr, last := s.renewErr, s.last
	s.mu.Unlock()
	switch {
	case released:
		return ErrReleased
	case lost != nil:
		return lost
	case !over:
		return nil
	case last:
		return s.lose(Expired, fmt.Errorf("%w: %v", ErrMaxHold, s.set.maxHold))
	case renewErr != nil:
		return s.lose(Unreachable, renewErr)
	default:
		return s.lose(Expired, nil)
	}
}

// lose ends the lease for a reason; the first one stays. It returns what the
// lock's state is then.
func (s *shared) lose(reason LostReason, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.released:
		return ErrReleased
	case s.lost != nil:
		return s.lost
	}
	s.lost = &LostError{Resource: s.Resource(), Token: s.stamp.Token, Reason: reason, Err: err}
	if s.end != nil {
		s.end(s.lost)
	}
	if s.lostCh != nil {
		close(s.lostCh)
	}
	return s.lost
}

var errKeyGone = errors.New("its key is gone from redis")

// keyGone names the resource if the lock has several.
func (s *shared) keyGone(key string) error {
	if key == "" {
		return errKeyGone
	}
	return fmt.Errorf("%w: that of %s", errKeyGone, s.set.resources[s.set.keys.index(key)])
}
