package lockclient

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

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
	c     *Client
	n     *node
	lanes *lanes // nil for a Cluster client
}

func newSingle(c *Client, n *node) *single {
	s := &single{c: c, n: n}
	if _, ok := n.rdb.(*redis.Client); ok {
		s.lanes = &lanes{n: n, most: cap(c.slots)}
	}
	return s
}

func (s *single) list() []*node { return []*node{s.n} }
func (s *single) quorum() int   { return 1 }

func (s *single) acquire(ctx context.Context, timeout time.Duration, r request) answer {
	a := s.call(ctx, timeout, func(ctx context.Context) answer {
		if s.lanes != nil {
			return s.lanes.do(ctx, timeout, r.acquire())
		}
		// The slot is held for as long as the connection is.
		if !s.c.takeSlot(ctx) {
			return answer{err: abandoned(ctx, timeout), unsent: true}
		}
		defer s.c.giveSlot()
		return s.n.run(ctx, r.acquire())
	}, func(late answer) {
		if late.err != nil && !late.unsent || late.err == nil && late.status == statusOK {
			s.n.discard(r)
		}
	})
	if a.err != nil && !a.unsent {
		// Whatever the error is, an earlier try inside go-redis may have taken the
		// lock.
		s.discard(r)
	}
	return a
}

func (s *single) renew(ctx context.Context, timeout time.Duration, r request, _ members) answer {
	return s.ask(ctx, timeout, r.renew())
}

func (s *single) remint(ctx context.Context, timeout time.Duration, r request, fresh fence.Owner, above fence.Token, _ members) answer {
	return s.ask(ctx, timeout, r.remint(fresh, above))
}

func (s *single) release(ctx context.Context, timeout time.Duration, r request, _ members) answer {
	if s.lanes == nil {
		return s.ask(ctx, timeout, r.release())
	}
	return s.call(ctx, timeout, func(ctx context.Context) answer { return s.lanes.do(ctx, timeout, r.release()) }, nil)
}

func (s *single) discard(r request) { s.c.work.run(func() { s.n.discard(r) }) }

// ask runs a script at once, behind nobody else's.
func (s *single) ask(ctx context.Context, timeout time.Duration, v invocation) answer {
	return s.call(ctx, timeout, func(ctx context.Context) answer { return s.n.bound(ctx, timeout, v) }, nil)
}

// call returns do's answer, or ErrRedisUnreachable as soon as timeout has passed
// or ctx has ended. The script may then still take effect, and late is given the
// answer.
//
// Where it can, do runs in the goroutine of the caller, which saves much of what
// a call costs here. A frozen Redis must not hold that up: go-redis ends a socket
// read at a context's deadline, if told to (Options.ContextTimeoutEnabled), but not
// when the context is cancelled. Else do runs in the background, where it ends with
// the deadline or go-redis' own read timeout; Close waits for it.
func (s *single) call(caller context.Context, timeout time.Duration, do func(context.Context) answer, late func(answer)) answer {
	sent := s.c.clock.now()
	if s.n.bounded && caller.Done() == nil {
		a := do(s.c.bounds.within(caller, timeout))
		a.sent = sent
		return a
	}
	ctx, cancel := context.WithTimeout(caller, timeout)
	defer cancel()
	// What is on its way gets its answer: others' calls may go with it.
	within := s.c.bounds.within(context.WithoutCancel(caller), timeout)
	out := make(chan answer, 1)
	s.c.work.run(func() { out <- do(within) })
	select {
	case a := <-out:
		a.sent = sent
		return a
	case <-ctx.Done():
		if late != nil {
			s.c.work.run(func() { late(<-out) })
		}
		return answer{err: abandoned(ctx, timeout), unsent: true}
	}
}
