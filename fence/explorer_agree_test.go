package fence

import "testing/synctest"

// agree waits until the gate has come to rest, lets the rules follow it, and
// compares the two.
func (r *replay) agree(before *state) {
	synctest.Wait()
	if r.gate == nil {
		return
	}
	for i := range r.requests {
		r.overtaken(i, before)
	}
	for r.follow() {
	}
	r.compare()
}

// overtaken compares how a request has ended that had not begun.
func (r *replay) overtaken(i int, before *state) {
	p := r.permits[i]
	if p == nil || before.phase[i] > ready || r.s.phase[i] != over {
		return
	}
	want := Draining
	switch {
	case r.s.stopped && !before.stopped:
	case r.s.failed && !before.failed:
		want = LedgerUnavailable
	case r.requests[i].ask && r.s.pend == before.pend: // one that is only observed
		want = Passed
	default:
		want = r.ruling(r.s.pend).reason[i]
	}
	var got Verdict
	if r.verdict[i] == nil {
		if !isOvertaken(p) {
			r.fail("%s's upload was not told that it is refused", r.requests[i].name)
		}
		got = p.Begin(r.ctx)
	} else {
		select {
		case got = <-r.verdict[i]:
		default:
			r.fail("%s waits, by the rules it is refused as %q", r.requests[i].name, want)
			return
		}
	}
	if got.Reason != want {
		r.fail("%s is refused as %q, by the rules as %q", r.requests[i].name, got.Reason, want)
	}
	r.forget(i)
}

// follow makes one step by the rules that the gate has made by itself.
func (r *replay) follow() bool {
	if r.s.draining && !r.s.stopped && !r.busy() {
		return r.take(event{kind: evStop}) // nothing is left to drain
	}
	if !r.s.committing && r.ledger.batch != nil && r.take(event{kind: evCommit}) {
		n := 0
		for k, key := range r.keys {
			if r.s.batch[k] == r.s.dur[k] {
				continue
			}
			n++
			found := false
			for _, row := range r.ledger.batch {
				found = found || row.Key == key && pairOf(row.Token, row.Owner) == r.s.batch[k]
			}
			if !found {
				r.fail("the commit lacks %v", r.row(r.s.batch, k))
			}
		}
		if n != len(r.ledger.batch) {
			r.fail("the commit has %d rows, by the rules %d", len(r.ledger.batch), n)
		}
		return true
	}
	for _, asks := range []bool{true, false} { // an ask is through before a write can be in its way
		for i := range r.requests {
			q := &r.requests[i]
			if q.ask != asks || r.verdict[i] == nil {
				continue
			}
			select {
			case v := <-r.verdict[i]:
				r.verdict[i], r.leave[i] = nil, nil
				if v.OK() && !q.enforced {
					return true // the rules have let it begin with its arrival
				}
				if !v.OK() || !r.take(event{evBegin, uint8(i)}) {
					r.fail("%s: %q, which the rules do not allow", q.name, v.Reason)
					return false
				}
				return true
			default:
			}
		}
	}
	return false
}

// busy reports whether the rules have anything in flight or waiting.
func (r *replay) busy() bool {
	for i := range r.requests {
		switch r.s.phase[i] {
		case staging, ready, begun, cutOff:
			return true
		}
	}
	return false
}

func (r *replay) compare() {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	for i := range r.requests {
		q, p := &r.requests[i], r.permits[i]
		if p == nil {
			continue
		}
		want := r.s.phase[i]
		if want == cutOff {
			want = begun
			if !p.overtaken {
				r.fail("%s is not cut, by the rules it is", q.name)
			}
		} else if want == begun && p.overtaken {
			r.fail("%s is cut, by the rules it is not", q.name)
		}
		if p.phase != want {
			r.fail("%s is in phase %d, by the rules in %d", q.name, p.phase, want)
		}
		if want == ready && q.enforced && missing(r.standing(&r.s, i)) == Passed {
			r.fail("%s may begin by the rules, and does not", q.name)
		}
	}
	r.next(&r.s, func(e event, _ *state, _ string) {
		if e.kind == evCommit {
			r.fail("a commit is due by the rules, and none has started")
		}
	})
	for k, key := range r.keys {
		if got := r.rows.row(key); pairOf(got.Token, got.Owner) != r.s.disk[k] {
			r.fail("on disk is %+v, by the rules %+v", got, r.row(r.s.disk, k))
		}
	}
	g := r.gate
	if r.s.committing != (r.ledger.batch != nil) || r.s.failed != (g.failed != nil) || r.s.stopped != g.stopped || (r.s.hold > 0) != g.holding {
		r.fail("committing=%v failed=%v stopped=%v holding=%v, by the rules %+v", r.ledger.batch != nil, g.failed, g.stopped, g.holding, r.s)
	}
}
