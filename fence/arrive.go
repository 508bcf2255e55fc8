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
func (g *Gate) Arrive(ctx context.Context, r Request) (*Permit, Verdict) {
	p := &Permit{gate: g, ask: r.Ask, stream: r.Stream, touches: make([]held, len(r.Touches))}
	for i, t := range r.Touches {
		if t.Policy == Open {
			t.Stamp = Stamp{} // its number is not judged, so it means nothing
		}
		p.touches[i] = held{Touch: t, permit: p}
		p.enforced = p.enforced || t.Policy.Enforced()
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.admits(p); !v.OK() {
		return nil, v
	}
	for i := range p.touches {
		h := &p.touches[i]
		h.fence, h.object = g.nodes.hold(h.Fence), g.nodes.hold(h.Object)
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
func (g *Gate) admits(p *Permit) Verdict {
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
func (g *Gate) judgeAndRaise(p *Permit) Verdict {
	var buf [16]*Row
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
		s := h.sight(g.global, false, buf[:])
		if v := judge(&h.Touch, &s); !v.OK() && !note(i, v) {
			return p.verdict
		}
	}
	if len(p.touches) > 1 {
		touches := make([]Touch, len(p.touches))
		for i := range p.touches {
			touches[i] = p.touches[i].Touch
		}
		if v := judgeSiblings(touches); !v.OK() && !note(v.Touch, v) {
			return p.verdict
		}
	}
	now := time.Now()
	for i := range p.touches {
		h := &p.touches[i]
		s := h.sight(g.global, false, buf[:])
		if !covered(&h.Touch, &s) && (h.Policy.Enforced() || judge(&h.Touch, &s).OK()) {
			g.raise(h, now)
		}
	}
	g.kickCommit()
	return Verdict{}
}

// raise makes the touch's row pending and tells everyone whom it overtakes.
func (g *Gate) raise(h *held, now time.Time) {
	c := h.cell()
	row := Row{Key: c.durable.Key, Token: h.Token, Owner: h.Owner, Client: h.Client, Since: now}
	if c.pending == nil {
		h.fence.refs++ // until the row is durable
		g.dirty = append(g.dirty, c)
	}
	c.pending = &row
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
func (g *Gate) around(n *node, tree bool) []*Permit {
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
func (g *Gate) overtake(p *Permit) {
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
