package lockclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fencegate/fence"
)

// releaseWait bounds the call to Redis inside Unlock.
const releaseWait = 2 * time.Second

// Lock is a lease on one resource, renewed in the background until Unlock. Its
// token and owner do not change. All methods are safe for concurrent use.
type Lock struct {
	c        *Client
	set      settings
	resource fence.Resource
	acquired time.Time

	ctx    context.Context // ends with the lease
	end    context.CancelCauseFunc
	lostCh chan struct{}
	kept   chan struct{} // closed when the keeper has returned
	// turn is held by whoever asks Redis to change this lock's key: a renewal
	// with the old owner must not meet a re-mint under way.
	turn chan struct{}

	mu         sync.Mutex
	stamp      fence.Stamp
	lease      lease
	tree       bool // what the claim or WithTree says this lock covers
	renewErr   error
	lost       *LostError
	released   bool
	unanswered map[string]bool // writes whose fate is unknown, see Transport
}

// newLock starts renewing a lock that Redis has just given.
func newLock(c *Client, set settings, r fence.Resource, stamp fence.Stamp, le lease) *Lock {
	l := &Lock{
		c: c, set: set, resource: r, acquired: time.Now(),
		lostCh: make(chan struct{}), kept: make(chan struct{}), turn: make(chan struct{}, 1),
		stamp: stamp, lease: le, tree: set.tree,
	}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	go l.keep()
	return l
}

// String shows no owner, whatever verb prints the lock.
func (l *Lock) String() string {
	return fmt.Sprintf("lock on %s (token %s)", l.resource, l.Token())
}

// GoString is String, for %#v.
func (l *Lock) GoString() string { return l.String() }

// Token returns the lock's token, higher than that of every earlier holder.
func (l *Lock) Token() fence.Token { return l.Stamp().Token }

// Stamp returns what a request must carry to act for this lock, for programs
// that cannot use Transport. Its owner is a secret: do not log it.
func (l *Lock) Stamp() fence.Stamp {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stamp
}

// Resource returns what is locked.
func (l *Lock) Resource() fence.Resource { return l.resource }

// Tree reports whether the lock covers everything below the resource too:
// WithTree was given, or the fence's route says so.
func (l *Lock) Tree() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tree
}

// Context ends with the lease: with a *LostError as its cause when the lock is
// lost, with ErrReleased after Unlock. It does not descend from the context
// given to Lock, which bounds only the wait; Do's does.
func (l *Lock) Context() context.Context { return l.ctx }

// Lost returns a channel that is closed when the lock is lost. It stays open
// after Unlock.
func (l *Lock) Lost() <-chan struct{} { return l.lostCh }

// Deadline returns when the lease ends, by the wall clock, unless a renewal
// extends it. Remaining is not fooled when that clock is set.
func (l *Lock) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease.deadline()
}

// Remaining returns how long the lease holds if no renewal succeeds any more;
// 0 when it is over, lost or released.
func (l *Lock) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released || l.lost != nil {
		return 0
	}
	return l.lease.left(l.c.clock.now())
}

// Err returns nil while the lease holds, else ErrReleased or a *LostError. It
// reads the clock, and so notices a lease that ran out during a pause before
// any timer has.
func (l *Lock) Err() error { return l.check() }

// Unlock releases the lock and stops renewing. It works when ctx is cancelled:
// of ctx only the values are used, and Redis is given at most 2 s.
//
// Errors: ErrReleased when called again; ErrLeaseExpired when the lease had run
// out, ErrTakenOver when a later acquisition holds the lock, both matching
// ErrNotHeld and telling that work done under the lock may not have been alone;
// ErrRedisUnreachable when the next holder has to wait for the TTL.
func (l *Lock) Unlock(ctx context.Context) error {
	lost, a, first := l.finish(ctx)
	if !first {
		return ErrReleased
	}
	l.set.metrics.held(l.set.name, time.Since(l.acquired))
	switch {
	case lost != nil:
		return lost.notHeld()
	case a.err != nil:
		return fmt.Errorf("release %s: %w", l.resource, a.err)
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

// finish ends the lease and its renewal, and frees the key if it is ours. It
// returns how the lease had been lost, if it had, what Redis answered, and
// whether this was the first call.
func (l *Lock) finish(ctx context.Context) (lost *LostError, a answer, first bool) {
	_ = l.check() // a lease that is over is lost, not released
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		return nil, answer{}, false
	}
	l.released = true
	lost = l.lost
	l.end(ErrReleased) // no effect on a lost lock, whose cause is set
	l.mu.Unlock()

	<-l.kept // the keeper ends with the context
	if lost != nil && lost.Reason != Fenced {
		// The key is gone, another's, or about to expire: nothing to wait for.
		l.c.work.run(func() { l.release(context.Background()) })
		return lost, answer{}, true
	}
	return lost, l.release(ctx), true
}

// release deletes the key if it is still ours, within a bounded time whatever
// has become of ctx.
func (l *Lock) release(ctx context.Context) answer {
	return l.c.ask(context.WithoutCancel(ctx), releaseWait, releaseScript,
		[]string{l.set.keys.lock(l.resource)}, string(l.Stamp().Owner), l.set.keys.channel(l.resource))
}

// check ends a lease that the clock says is over, and returns nil only while
// it holds.
func (l *Lock) check() error {
	l.mu.Lock()
	released, lost, over := l.released, l.lost, l.lease.left(l.c.clock.now()) == 0
	renewErr := l.renewErr
	l.mu.Unlock()
	switch {
	case released:
		return ErrReleased
	case lost != nil:
		return lost
	case !over:
		return nil
	case renewErr != nil:
		return l.lose(Unreachable, renewErr)
	default:
		return l.lose(Expired, nil)
	}
}

// lose ends the lease for a reason; the first one stays. It returns what the
// lock's state is then.
func (l *Lock) lose(reason LostReason, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.released:
		return ErrReleased
	case l.lost != nil:
		return l.lost
	}
	l.lost = &LostError{Resource: l.resource, Token: l.stamp.Token, Reason: reason, Err: err}
	l.end(l.lost)
	close(l.lostCh)
	l.set.metrics.lost(l.set.name)
	return l.lost
}

var errKeyGone = errors.New("its key is gone from redis")
