package lockclient

import (
	"context"
	"time"

	"fencegate/fence"
)

// nodes is where a client's locks are: one Redis, or a quorum of independent
// ones. Every method may be called concurrently and returns at the end of
// timeout or ctx at the latest, whatever the nodes do. What it could not finish
// goes on in the client's background.
//
// Answers are those of the scripts; answer.err is ErrRedisUnreachable when there
// is none, and may be a *QuorumError.
type nodes interface {
	// acquire tries to take the lock once. A lock that was or may have been
	// taken without this call telling so is given back.
	acquire(ctx context.Context, timeout time.Duration, r request) answer
	// renew extends the lease; at is where the lock is held.
	renew(ctx context.Context, timeout time.Duration, r request, at members) answer
	// remint changes owner and token. It may be repeated with the same new owner,
	// and must be, or given up with discard, when it was not answered.
	remint(ctx context.Context, timeout time.Duration, r request, fresh fence.Owner, above fence.Token, at members) answer
	// release frees the lock.
	release(ctx context.Context, timeout time.Duration, r request, at members) answer
	// discard frees, in the background, what unanswered calls with this owner
	// may have taken or take yet.
	discard(r request)
	// list returns the nodes, to subscribe to all of them, and quorum how many
	// of them decide.
	list() []*node
	quorum() int
}

// members are the nodes on which a lock is held, by their index; nil where
// there is one node only.
type members []bool

// single is one Redis.
type single struct {
	c *Client
	n *node
}

func (s *single) list() []*node { return []*node{s.n} }
func (s *single) quorum() int   { return 1 }

func (s *single) acquire(caller context.Context, timeout time.Duration, r request) answer {
	ctx, cancel := context.WithTimeout(caller, timeout)
	defer cancel()
	if !s.c.takeSlot(ctx) {
		return answer{err: abandoned(ctx, timeout)}
	}
	sent := s.c.clock.now()
	var a answer
	if s.direct(caller) {
		a = s.n.bound(ctx, timeout, r.acquire())
		s.c.giveSlot()
	} else {
		out := make(chan answer, 1)
		s.c.work.run(func() {
			// The slot is held for as long as the connection is.
			defer s.c.giveSlot()
			out <- s.n.run(ctx, r.acquire())
		})
		select {
		case a = <-out:
		case <-ctx.Done():
			s.c.work.run(func() {
				if late := <-out; late.err != nil || late.status == statusOK {
					s.n.discard(r)
				}
			})
			return answer{err: abandoned(ctx, timeout)}
		}
	}
	if a.err != nil {
		// Whatever the error is, an earlier try inside go-redis may have taken the
		// lock.
		s.discard(r)
	}
	a.sent = sent
	return a
}

func (s *single) renew(ctx context.Context, timeout time.Duration, r request, _ members) answer {
	return s.ask(ctx, timeout, r.renew())
}

func (s *single) remint(ctx context.Context, timeout time.Duration, r request, fresh fence.Owner, above fence.Token, _ members) answer {
	return s.ask(ctx, timeout, r.remint(fresh, above))
}

func (s *single) release(ctx context.Context, timeout time.Duration, r request, _ members) answer {
	return s.ask(ctx, timeout, r.release())
}

func (s *single) discard(r request) { s.c.work.run(func() { s.n.discard(r) }) }

// ask runs a script and returns its answer, or ErrRedisUnreachable as soon as
// timeout has passed or ctx has ended. The script may then still take effect.
func (s *single) ask(caller context.Context, timeout time.Duration, v invocation) answer {
	ctx, cancel := context.WithTimeout(caller, timeout)
	defer cancel()
	sent := s.c.clock.now()
	if s.direct(caller) {
		a := s.n.bound(ctx, timeout, v)
		a.sent = sent
		return a
	}
	out := make(chan answer, 1)
	s.c.work.run(func() { out <- s.n.run(ctx, v) })
	select {
	case a := <-out:
		a.sent = sent
		return a
	case <-ctx.Done():
		return answer{err: abandoned(ctx, timeout)}
	}
}

// direct reports whether the goroutine of the caller may wait for Redis itself,
// which saves most of what a call costs here. A frozen Redis must not hold it up:
// go-redis ends a socket read at a context's deadline, if told to, but not when
// the context is cancelled. What may be cancelled is therefore done in the
// background, where it ends with the deadline, or with go-redis' own read timeout;
// Close waits for it.
func (s *single) direct(caller context.Context) bool {
	return s.n.bounded != nil && caller.Done() == nil
}
