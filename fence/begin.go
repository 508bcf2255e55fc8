package fence

import "time"

// judge judges a permit by the pending rows of now.
func (g *Gate) judge(p *passage) Verdict {
	if !p.enforced {
		return Verdict{}
	}
	for i := range p.touches {
		h := &p.touches[i]
		if !h.Policy.Enforced() {
			continue
		}
		s := g.sight(h, false)
		if v := judge(&h.Touch, &s); !v.OK() {
			v.Touch = i
			return v
		}
	}
	return Verdict{}
}

// tryBegin lets a permit begin if everything allows it.
func (g *Gate) tryBegin(p *passage) {
	if p.phase != ready {
		return
	}
	if !p.enforced { // neither refused nor made to wait
		g.begin(p)
		return
	}
	if missing(g.standing(p)) != Passed {
		return
	}
	if v := g.judge(p); !v.OK() {
		p.verdict = v
		g.end(p)
		return
	}
	g.begin(p)
}

// begin turns a permit into a begun one, or lets an ask through.
func (g *Gate) begin(p *passage) {
	if p.ask {
		g.end(p)
		return
	}
	g.waiting.remove(p)
	g.waiters--
	g.active.add(p)
	g.begun++
	p.phase = begun
	for i := range p.touches {
		p.touches[i].activate(p.stream)
	}
	p.tell()
}

// end takes a permit that has not begun out of the gate.
func (g *Gate) end(p *passage) {
	g.waiting.remove(p)
	g.waiters--
	p.phase = over
	g.unregister(p)
	if !p.overtaken && !p.ask {
		p.stopUpload()
	}
	p.tell()
	g.checkQuiet()
}

// settle takes a permit whose write can no longer take effect out of the gate,
// and lets those begin that waited for it.
func (g *Gate) settle(p *passage) {
	p.phase = over
	for i := range p.touches {
		p.touches[i].deactivate()
		p.touches[i].leaveQueues()
	}
	for i := range p.touches {
		h := &p.touches[i]
		g.wake(g.around(h.object, h.Tree))
		if h.fence != h.object || h.floors() != h.Tree {
			g.wake(g.around(h.fence, h.floors()))
		}
	}
	g.unregister(p)
}

func (g *Gate) wake(candidates []*passage) {
	for _, p := range candidates {
		g.tryBegin(p)
	}
}

func (g *Gate) unregister(p *passage) {
	for i := range p.touches {
		p.touches[i].unregister()
	}
	g.releaseNodes(p)
}

func (g *Gate) releaseNodes(p *passage) {
	for i := range p.touches {
		g.nodes.release(p.touches[i].object)
		g.nodes.release(p.touches[i].fence)
	}
}

// standing gathers what decides whether p may begin.
func (g *Gate) standing(p *passage) standing {
	s := standing{failed: g.failed != nil, stopped: g.stopped, holding: g.holding, covered: true}
	for i := range p.touches {
		h := &p.touches[i]
		if h.Policy.Enforced() {
			durable := g.sight(h, true)
			s.covered = s.covered && covered(&h.Touch, &durable)
		}
		s.begun = s.begun || h.blocked()
	}
	return s
}

// giveUp says what a waiting permit lacked.
func (g *Gate) giveUp(p *passage) Verdict {
	s := g.standing(p)
	touches := p.plain()
	var end time.Time
	for e := g.settling.first; e != nil; e = e.next {
		if blocks(e.plain(), touches) && e.end.After(end) {
			s.entry, end = true, e.end
		}
	}
	v := Verdict{Reason: missing(s), Err: g.failed}
	switch v.Reason {
	case Passed: // it was granted everything but its turn
		v.Reason = Busy
	case Recovering:
		v.RetryAfter = time.Until(g.holdEnd)
	case Settling:
		v.RetryAfter = time.Until(end)
	}
	return v
}

func (p *passage) plain() []Touch {
	out := make([]Touch, len(p.touches))
	for i := range p.touches {
		out[i] = p.touches[i].Touch
	}
	return out
}
