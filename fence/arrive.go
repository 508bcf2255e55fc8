package fence

import (
	"context"
	"errors"
	"time"
)

// Arrive judges a request by its headers. It returns a permit, to be ended by
// Begin (and Done) or Withdraw, or the verdict that refuses the request; never
// both. Judging and raising is one step over all touches: a refused request
// has changed nothing. ctx limits the look-up of rows only.
func (g *Gate) Arrive(ctx context.Context, r Request) (p *Permit, v Verdict) {
	// No more than that, so that it is inlined and the Permit can stay on the
	// caller's stack.
	passage, v := g.arrive(ctx, r)
	if passage != nil {
		p = &Permit{gate: g, passage: passage}
	}
	return
}

func (g *Gate) arrive(ctx context.Context, r Request) (*passage, Verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.spare.take(&r)
	if v := g.admits(p); !v.OK() {
		g.spare.put(p)
		return nil, v
	}
	for i := range p.touches {
		h := &p.touches[i]
		h.fence = g.nodes.hold(h.Fence)
		if h.object = h.fence; h.Object == h.Fence {
			g.nodes.take(h.object)
		} else {
			h.object = g.nodes.hold(h.Object)
		}
		// The same, but no pieces of the request, which an entry would keep.
		h.Fence, h.Object = h.fence.path, h.object.path
		if h.Tree && h.Policy != Open {
			g.watchBelow(h)
		}
	}
	g.arriving++
	err := g.lookUp(ctx, p)
	g.arriving--
	v := g.admits(p)
	if v.OK() && err != nil {
		v = Verdict{Reason: LedgerUnavailable, Err: err}
		switch {
		case ctx.Err() != nil:
			v = Verdict{Reason: ClientGone} // the ledger is not to blame
		case errors.Is(err, errScansBusy):
			v = Verdict{Reason: Busy}
		}
		if v.Reason != ClientGone && !p.enforced {
			p.observed, v = v, Verdict{}
		}
	}
	if v.OK() && err == nil {
		v = g.judgeAndRaise(p)
	}
	if !v.OK() {
		for i := range p.touches {
			p.touches[i].unwatch()
		}
		g.releaseNodes(p)
		g.spare.put(p)
		return nil, v
	}
	for i := range p.touches {
		p.touches[i].register()
	}
	g.waiting.add(p)
	g.waiters++
	return p, Verdict{}
}

// admits refuses what may not even arrive.
func (g *Gate) admits(p *passage) Verdict {
	switch {
	case p.enforced && g.failed != nil:
		return Verdict{Reason: LedgerUnavailable, Err: g.failed}
	case g.draining:
		return Verdict{Reason: Draining}
	case g.arriving+g.waiters+g.begun+g.entries >= g.opts.MaxPermits:
		return Verdict{Reason: Busy}
	}
	return Verdict{}
}

// judgeAndRaise is the one atomic step of an arrival.
func (g *Gate) judgeAndRaise(p *passage) Verdict {
	note := func(i int, v Verdict) bool {
		v.Touch = i
		if p.touches[i].Policy.Enforced() {
			p.verdict = v
			return false
		}
		if p.observed.OK() {
			p.observed = v
		}
		return true
	}
	for i := range p.touches {
		h := &p.touches[i]
		s := g.sight(h, false)
		if v := judge(&h.Touch, &s); !v.OK() && !note(i, v) {
			return p.verdict
		}
	}
	if len(p.touches) > 1 {
		g.siblings = g.siblings[:0]
		for i := range p.touches {
			g.siblings = append(g.siblings, p.touches[i].Touch)
		}
		v := judgeSiblings(g.siblings)
		clear(g.siblings)
		if !v.OK() && !note(v.Touch, v) {
			return p.verdict
		}
	}
	var now time.Time
	for i := range p.touches {
		h := &p.touches[i]
		s := g.sight(h, false)
		if !covered(&h.Touch, &s) && (h.Policy.Enforced() || judge(&h.Touch, &s).OK()) {
			if now.IsZero() {
				now = time.Now()
			}
			g.raise(h, now)
		}
	}
	g.kickCommit()
	return Verdict{}
}

// raise makes the touch's row pending and tells everyone whom it overtakes.
func (g *Gate) raise(h *held, now time.Time) {
	c := h.cell()
	if c.pending == nil {
		h.fence.refs++ // until the row is durable
		g.dirty = append(g.dirty, c)
		c.pending = g.takeRow()
	}
	row := c.raise(&h.Stamp, now)
	for n := h.fence.parent; n != nil; n = n.parent {
		for _, w := range n.watchers {
			w.below.add(&w.Touch, row)
		}
	}
	for _, p := range g.around(h.fence, row.Kind == Floor) {
		g.overtake(p)
	}
}

// around collects the waiting permits that a change at n can concern, each
// once, in order of arrival at their nodes. The result is valid until the next
// call.
func (g *Gate) around(n *node, tree bool) []*passage {
	g.candidates = g.candidates[:0]
	n.around(tree, func(h *held) {
		if k := len(g.candidates); k == 0 || g.candidates[k-1] != h.permit {
			g.candidates = append(g.candidates, h.permit)
		}
	})
	return g.candidates
}

// overtake ends a waiting permit that no longer passes, and cuts a begun
// stream. Other begun writes are left alone: cutting a connection does not undo
// a write.
func (g *Gate) overtake(p *passage) {
	if p.phase > begun || p.phase == begun && (!p.stream || p.overtaken) {
		return
	}
	v := g.judge(p)
	if v.OK() {
		return
	}
	if p.phase == begun {
		p.stopUpload()
		return
	}
	p.verdict = v
	g.end(p)
}
