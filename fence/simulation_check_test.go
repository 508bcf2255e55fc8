package fence

import "fmt"

// objects are all paths an effect can be seen on.
var objects = []string{"/d", "/d/f", "/d/g", "/e", "/t/1", "/t/2", "/t/n/1"}

func (w *world) checkDurable(r *simRequest, t *Touch) {
	if t.Token == NoToken || t.Passive {
		return
	}
	var highest Token
	if !t.floors() {
		highest = w.ledger.row(Key{Mark, t.Fence}).Token
	}
	for p, ok := t.Fence, true; ok; p, ok = p.Parent() {
		highest = max(highest, w.ledger.row(Key{Floor, p}).Token)
	}
	if highest < t.Token {
		w.fail("S5: %s begins with token %d, durable is %d", r.name, t.Token, highest)
	}
}

func (w *world) noteAnswer(r *simRequest) {
	for _, t := range r.touches {
		if t.Passive {
			continue
		}
		for _, o := range objects {
			inFence := t.fenceRegion().overlaps(region{path: ResourceOf(o)})
			if r.ask && inFence || !r.ask && t.objectRegion().overlaps(region{path: ResourceOf(o)}) {
				w.answered[o] = max(w.answered[o], t.Token)
			}
		}
	}
}

// effect is what the upstream does with a write, whenever it likes.
func (w *world) effect(r *simRequest) {
	w.logf("UPSTREAM APPLIES %s (%s)", r.name, r.slot)
	if r.phase == "refused stale_token" || r.phase == "refused owner_conflict" || r.phase == "refused tree_fenced" {
		w.fail("S4: %s was answered %q but takes effect", r.name, r.phase)
	}
	for _, t := range r.touches {
		if t.Passive {
			continue
		}
		for _, o := range objects {
			if !t.objectRegion().overlaps(region{path: ResourceOf(o)}) {
				continue
			}
			if t.Token < w.last[o] {
				w.fail("S1: %s takes effect on %s with token %d after %d", r.name, o, t.Token, w.last[o])
			}
			if t.Token < w.answered[o] {
				w.fail("S2: %s takes effect on %s with token %d after %d was answered", r.name, o, t.Token, w.answered[o])
			}
			w.last[o] = max(w.last[o], t.Token)
			key := fmt.Sprint(o, t.Token)
			if t.Token != NoToken && t.Owner.Conflicts(w.owners[key]) {
				w.fail("S3: %s takes effect on %s with token %d and a second owner", r.name, o, t.Token)
			}
			if t.Token != NoToken && t.Owner != NoOwner {
				w.owners[key] = t.Owner
			}
		}
	}
}

// checkIndex compares what the nodes say of who blocks whom with the rule.
func (w *world) checkIndex() {
	g := w.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := g.waiting.first; p != nil; p = p.next {
		byRule := false
		for _, list := range []permits{g.active, g.settling} {
			for b := list.first; b != nil; b = b.next {
				byRule = byRule || blocks(b.plain(), p.plain())
			}
		}
		byIndex := false
		for i := range p.touches {
			byIndex = byIndex || p.touches[i].blocked()
		}
		if byRule != byIndex {
			w.fail("%s is blocked: by rule %v, by index %v", showTouches(p.plain()), byRule, byIndex)
		}
		for i := range p.touches {
			if v := w.judgeAfresh(&p.touches[i].Touch); !v.OK() {
				w.fail("%s waits although it can never begin: %s", showTouches(p.plain()), v.Reason)
			}
		}
		if p.phase == ready && missing(g.standing(p)) == Passed {
			w.fail("%s may begin, but nobody told it", showTouches(p.plain()))
		}
	}
}

// judgeAfresh judges a touch by all rows there are, durable or pending, without
// the gate's index.
func (w *world) judgeAfresh(t *Touch) Verdict {
	var s sight
	add := func(r Row) {
		switch above, below := sees(t, r.Key); {
		case above:
			s.above = append(s.above, &r)
		case below:
			s.below.add(t, r)
		}
	}
	for _, r := range w.ledger.rows {
		add(r)
	}
	for _, n := range w.gate.nodes.all {
		for _, c := range []*cell{&n.mark, &n.floor} {
			if c.pending != nil {
				add(*c.pending)
			}
		}
	}
	return judge(t, &s)
}
