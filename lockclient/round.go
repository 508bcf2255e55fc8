package lockclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

// leastPatience is how long the nodes that are not slow are waited for at least
// when a quorum has answered already. Whoever exceeds it is slow from then on, so
// that this is paid once.
const leastPatience = 10 * time.Millisecond

// round is one script sent to several nodes at once. It belongs to one
// goroutine.
type round struct {
	q       *quorum
	at      members
	sent    instant // before the first node was asked
	begin   time.Time
	end     context.CancelFunc
	ctx     context.Context // of the calls: the node timeout alone
	replies chan reply
	got     []*answer // by node, nil for none yet
	open    int       // calls that have not been answered
	quick   time.Duration
}

type reply struct {
	node int
	a    answer
	took time.Duration
}

// send asks the nodes of at (nil for all). With probing, a node that is slow is
// asked only when no other call to it is under way: however often the others
// are asked, what waits for a dead one stays bounded.
func (q *quorum) send(ctx context.Context, r request, v invocation, at members, probing bool) *round {
	return q.sendWithin(ctx, nodeTimeout(r.ttl), r, v, at, probing)
}

// sendWithin is send with another time for the nodes to answer.
func (q *quorum) sendWithin(ctx context.Context, timeout time.Duration, r request, v invocation, at members, probing bool) *round {
	if at == nil {
		at = q.all()
	}
	rd := &round{q: q, at: at, got: make([]*answer, len(q.nodes)), replies: make(chan reply, len(q.nodes))}
	// Not ended by the caller, so that what is on its way gets its answer.
	rd.ctx, rd.end = context.WithTimeout(context.WithoutCancel(ctx), timeout)
	rd.sent, rd.begin = q.c.clock.now(), time.Now()
	for i, n := range q.nodes {
		if !at[i] {
			continue
		}
		probe := probing && n.slow.Load()
		if probe {
			select {
			case n.probe <- struct{}{}:
			default:
				rd.got[i] = &answer{err: errSkipped}
				continue
			}
		}
		rd.open++
		q.c.work.run(func() {
			a := n.run(rd.ctx, v)
			if probe {
				<-n.probe
			}
			if a.err == nil && a.status == statusOK {
				if _, err := fence.ParseToken(a.value, fence.DefaultMaxToken); err != nil {
					a.err = fmt.Errorf("redis: the lock key does not start with a token: %w", err)
				}
			}
			rd.replies <- reply{i, a, time.Since(rd.begin)}
		})
	}
	return rd
}

// take notes a reply, and whether its node can be waited for next time.
func (rd *round) take(r reply) {
	rd.got[r.node] = &r.a
	rd.open--
	rd.q.nodes[r.node].slow.Store(r.a.err != nil || rd.quick > 0 && r.took > rd.quick)
}

// gather waits until it is clear whether a quorum says "ok", or ctx or the node
// timeout ends, and returns who does. With patience it gives those that usually
// are quick the time to answer too: a lock on all nodes outlasts the loss of any
// minority, one on a bare quorum outlasts none.
func (rd *round) gather(ctx context.Context, patient bool) members {
	var enough <-chan time.Time
	for {
		yes := rd.yes()
		switch n := count(yes); {
		case rd.open == 0 || n+rd.open < rd.q.need:
			return yes
		case n < rd.q.need:
		case !patient || !rd.awaited():
			return yes
		case enough == nil:
			rd.quick = max(leastPatience, 2*time.Since(rd.begin))
			timer := time.NewTimer(rd.quick - time.Since(rd.begin))
			defer timer.Stop()
			enough = timer.C
		}
		select {
		case r := <-rd.replies:
			rd.take(r)
		case <-enough:
			rd.late()
			return rd.yes()
		case <-rd.ctx.Done():
			rd.late()
			return rd.yes()
		case <-ctx.Done():
			return rd.yes()
		}
	}
}

func (rd *round) yes() members {
	yes := make(members, len(rd.got))
	for i, a := range rd.got {
		yes[i] = a != nil && a.err == nil && a.status == statusOK
	}
	return yes
}

// awaited reports whether a node that usually is quick has not answered.
func (rd *round) awaited() bool {
	for i, n := range rd.q.nodes {
		if rd.at[i] && rd.got[i] == nil && !n.slow.Load() {
			return true
		}
	}
	return false
}

// late marks those that have not answered as slow.
func (rd *round) late() {
	for i, n := range rd.q.nodes {
		if rd.at[i] && rd.got[i] == nil {
			n.slow.Store(true)
		}
	}
}

// rest takes the answers that are still to come, in the background, and calls f
// with each. Nothing else of the round may be used afterwards but what gather has
// returned and refusal and failure.
func (rd *round) rest(f func(*node, answer)) {
	if rd.open == 0 {
		rd.end()
		return
	}
	late := *rd
	late.got = slices.Clone(rd.got)
	rd.q.c.work.run(func() {
		defer late.end()
		for late.open > 0 {
			r := <-late.replies
			late.take(r)
			if f != nil {
				f(late.q.nodes[r.node], r.a)
			}
		}
	})
}

// giveBack frees, in the background, what an acquisition has taken on nodes
// other than those that are kept, or may have taken, or takes yet.
func (rd *round) giveBack(r request, keep members) {
	for i, a := range rd.got {
		if a != nil && (keep == nil || !keep[i]) && a.mayHold() {
			n := rd.q.nodes[i]
			rd.q.c.work.run(func() { n.discard(r) })
		}
	}
	rd.rest(func(n *node, a answer) {
		if a.mayHold() {
			rd.q.c.work.run(func() { n.discard(r) })
		}
	})
}

// mayHold reports whether a call may have taken the lock.
func (a answer) mayHold() bool {
	return a.err != nil && !errors.Is(a.err, errSkipped) || a.err == nil && a.status == statusOK
}

// highest returns the highest token that was granted, and how many of the nodes
// found that an earlier lease had run out.
func (rd *round) highest(granted members) (token fence.Token, expired int) {
	for i, a := range rd.got {
		if granted[i] {
			t, _ := fence.ParseToken(a.value, fence.DefaultMaxToken)
			token = max(token, t)
			if a.note == noteExpired {
				expired++
			}
		}
	}
	return token, expired
}

// refusal is the answer to an acquisition that has too few grants: "held" where
// another is in the way, else an error.
func (rd *round) refusal() answer {
	a := answer{status: statusHeld}
	var lefts []time.Duration
	granted := 0
	for _, got := range rd.got {
		switch {
		case got == nil || got.err != nil:
		case got.status == statusHeld:
			lefts = append(lefts, got.left())
			a.note = got.note
		case got.status == statusOK:
			granted++
		}
	}
	if len(lefts) == 0 {
		return rd.failure()
	}
	// When so many of the keys in the way have expired, a quorum is free.
	slices.Sort(lefts)
	if i := rd.q.need - granted - 1; i < len(lefts) {
		a.value = fmt.Sprint(lefts[i].Milliseconds())
	}
	if len(lefts) <= len(rd.q.nodes)-rd.q.need {
		f := rd.failure()
		if f.err == nil {
			return f // the counter's fault, on more nodes
		}
		a.partial = f.err
	}
	return a
}

// failure is the answer of a round without a quorum of "ok": what so many nodes
// say that no quorum can say otherwise, or a *QuorumError.
func (rd *round) failure() answer {
	e, said := rd.verdicts()
	spare := count(rd.at) - rd.q.need
	missing, other := said[statusMissing], said[statusOther]
	switch {
	case len(other) > spare:
		return *other[0]
	case len(missing)+len(other) > spare:
		for _, a := range append(missing, other...) {
			return answer{status: statusMissing, value: a.value}
		}
	}
	for _, status := range []string{statusExhausted, statusCounter, statusBounded} {
		if all := said[status]; len(all) > spare {
			return *all[0]
		}
	}
	return answer{err: e}
}

// verdicts sorts the answers, and puts those that are not "ok" into an error.
func (rd *round) verdicts() (*QuorumError, map[string][]*answer) {
	q := rd.q
	said := map[string][]*answer{}
	e := &QuorumError{Nodes: &multierror.Error{ErrorFormat: inOneLine}, Need: q.need, Of: len(q.nodes)}
	for i, a := range rd.got {
		var err error
		switch {
		case !rd.at[i]:
			continue
		case a == nil:
			e.silent++
			err = fmt.Errorf("%w within %v", ErrRedisUnreachable, time.Since(rd.begin).Round(time.Millisecond))
		case a.err != nil:
			if transient(a.err) || errors.Is(a.err, errSkipped) {
				e.silent++
			}
			err = a.err
		case a.status == statusOK:
			e.Got++
			continue
		case a.status == statusHeld:
			err = fmt.Errorf("%w for %v", ErrNotAcquired, a.left())
		default:
			err = fmt.Errorf("it answered %q %s", a.status, a.value)
		}
		if a != nil && a.err == nil {
			said[a.status] = append(said[a.status], a)
		}
		e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{q.nodes[i].index, q.nodes[i].address, err})
	}
	if len(said[statusHeld])+len(said[statusOther]) > 0 {
		e.is = append(e.is, ErrNotAcquired)
	}
	if e.silent > len(q.nodes)-q.need {
		e.is = append(e.is, ErrRedisUnreachable)
	}
	e.retry = e.silent+len(said[statusHeld])+len(said[statusOther])+len(said[statusMissing]) > 0
	return e, said
}
