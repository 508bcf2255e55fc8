package fence

import "time"

// emit is told of each step that a state allows: what happens, what becomes of
// the state, and which promise that breaks.
type emit func(e event, n *state, breach string)

// next calls out for every step from s, and reports whether one of them comes
// by itself: not an arrival, a client that moves or leaves, or a fault. A
// ledger that is full for a while is not among the steps: a commit that is
// tried again is one that takes longer.
func (x *explorer) next(s *state, out emit) bool {
	moves := false
	for i := range x.requests {
		moves = x.requestSteps(s, i, out) || moves
		if k := s.slot[i]; k == sent || k > adrift {
			n := *s
			breach := x.effect(&n, i)
			if n.slot[i] = applied; k > adrift {
				n.slot[i] = nowhere
			}
			out(event{evApply, uint8(i)}, &n, breach)
		}
	}
	if !s.up {
		n := *s
		x.restart(&n)
		out(event{kind: evRestart}, &n, "")
		return true
	}
	moves = x.commitSteps(s, out) || moves
	if s.hold > 0 && !s.stopped {
		n := *s
		for i := range x.requests {
			// What an earlier run had in flight; an entry is of this one.
			if n.slot[i] > adrift && n.slot[i] <= adrift+slot(n.hold) && n.phase[i] == over {
				n.slot[i] = nowhere
			}
		}
		n.hold = 0
		out(event{kind: evHoldEnds}, &n, "")
		moves = true
	}
	if s.crashCount < x.crashes {
		n := *s
		n.crashCount++
		x.down(&n, x.settleOf(s))
		out(event{kind: evCrash}, &n, "")
		if s.committing {
			n.disk = s.batch
			out(event{kind: evCrashKept}, &n, "")
		}
	}
	return x.stopSteps(s, out) || moves
}

// requestSteps are those of one request while the process is up.
func (x *explorer) requestSteps(s *state, i int, out emit) (moves bool) {
	if !s.up {
		return false
	}
	q := &x.requests[i]
	step := func(k eventKind, n *state, breach string) { out(event{k, uint8(i)}, n, breach) }
	switch s.phase[i] {
	case unsent:
		// A client may give up a write that has begun, which goes on without it.
		if p := q.previous; p >= 0 && (s.phase[p] == unsent || s.phase[p] <= ready) {
			return false
		}
		n := *s
		breach := x.arrive(&n, i)
		step(evArrive, &n, breach)
	case staging:
		n := *s
		if q.enforced {
			n.phase[i] = ready
		} else {
			x.begin(&n, i)
		}
		step(evUploaded, &n, "")
		x.leaveStep(s, i, step)
	case ready:
		x.leaveStep(s, i, step)
		return x.beginStep(s, i, step)
	case begun, cutOff:
		for _, o := range []Outcome{NotSent, Definite, Uncertain} {
			if o == NotSent && s.slot[i] != sent {
				continue
			}
			n := *s
			breach := x.done(&n, i, o)
			step([]eventKind{evNotSent, evDefinite, evUncertain}[o], &n, breach)
		}
		if x.bend == bendClientEndsBegun && s.phase[i] == begun {
			n := *s
			n.phase[i], n.slot[i] = over, x.drift(s.slot[i], x.settleOf(s))
			step(evLeave, &n, "")
		}
		return true
	case limbo:
		n := *s
		n.phase[i] = settling
		step(evForget, &n, "")
		return true
	case settling:
		if s.stopped {
			return false // the timer has been stopped
		}
		n := *s
		n.phase[i] = over
		if x.bend != bendClockBeforeReset {
			n.slot[i] = nowhere
		}
		step(evExpire, &n, "")
		return true
	}
	return false
}

// leaveStep: a client leaves, or max_wait is over.
func (x *explorer) leaveStep(s *state, i int, step func(eventKind, *state, string)) {
	n := *s
	n.phase[i] = over
	step(evLeave, &n, "")
}

// arrive is the one atomic step of an arrival.
func (x *explorer) arrive(n *state, i int) (breach string) {
	q := &x.requests[i]
	if q.enforced && n.failed || n.draining {
		n.phase[i] = over
		return ""
	}
	a := x.arrival(n.pend, i)
	if x.bend == bendJudgeByDurable {
		a = &arrival{reason: x.arrival(n.dur, i).reason}
		a.rises, a.wrong = x.raises(n.pend, i)
	}
	if a.reason != Passed {
		if !q.enforced {
			return "policy: a request that only is observed was refused"
		}
		n.phase[i] = over
		return a.wrong
	}
	n.phase[i] = staging
	if q.ask || q.stream { // no body to wait for
		n.phase[i] = ready
	}
	if x.bend == bendRaiseAtBegin {
		return ""
	}
	breach = a.wrong
	for _, after := range a.rises {
		n.pend = after
		breach = x.either(breach, x.overtake(n, i))
	}
	if x.bend == bendAskAnsweredAtArrival && q.ask {
		x.answer(n, i)
		n.phase[i] = over
	}
	if !q.enforced && n.phase[i] == ready {
		x.begin(n, i)
	}
	return breach
}

// overtake tells everybody whom the arrival of i has overtaken.
func (x *explorer) overtake(n *state, i int) (breach string) {
	r := x.ruling(n.pend)
	for j := range x.requests {
		if j == i || !x.requests[j].enforced || r.reason[j] == Passed {
			continue
		}
		switch p := n.phase[j]; {
		case p == staging && x.bend == bendUploadsNotOvertaken:
		case p == ready && x.bend == bendNobodyOvertaken:
		case p <= ready, p == begun && x.bend == bendBegunRefused:
			breach = x.either(breach, x.refuse(n, j, r))
		case p == begun && x.requests[j].stream:
			n.phase[j] = cutOff
			if x.bend == bendCutIsRefused {
				n.slot[j] = x.drift(n.slot[j], x.settleOf(n))
				breach = x.either(breach, x.refuse(n, j, r))
			}
		}
	}
	return breach
}

// refuse answers a waiting request with its verdict.
func (x *explorer) refuse(n *state, j int, r *ruling) (breach string) {
	breach = r.wrong[j]
	if n.slot[j] == applied {
		breach = x.either(breach, "S4: "+x.requests[j].name+" is refused after it took effect")
	}
	n.phase[j] = over
	if n.slot[j] != nowhere {
		n.phase[j] = refused
	}
	return breach
}

// standing is what Gate.standing gathers.
func (x *explorer) standing(s *state, i int) standing {
	q := &x.requests[i]
	coveredBy := s.dur
	switch {
	case x.bend == bendBeginByPending:
		coveredBy = s.pend
	case x.bend == bendDurableAtCommitStart && s.committing:
		coveredBy = s.batch
	}
	st := standing{
		failed: s.failed, stopped: s.stopped, holding: s.hold > 0,
		covered: x.ruling(coveredBy).covered&(1<<i) != 0,
	}
	for j := range x.requests {
		if q.blockers&(1<<j) == 0 {
			continue
		}
		switch s.phase[j] {
		case settling:
			st.entry = true
		case begun, cutOff:
			st.begun = true
		case staging:
			st.begun = st.begun || x.bend == bendUploadsBlock
		}
	}
	switch {
	case x.bend == bendRaiseAtBegin:
		st.covered = true
	case x.bend == bendAsksSkipHold && q.ask:
		st.holding = false
	case x.bend == bendAsksSkipEntries && q.ask:
		st.entry = false
	case x.bend == bendAsksSkipBegun && q.ask:
		st.begun = false
	case x.bend == bendBeginAfterStop:
		st.stopped = false
	}
	return st
}

// beginStep lets a request begin, or refuses it, if it may have its turn.
func (x *explorer) beginStep(s *state, i int, step func(eventKind, *state, string)) (moves bool) {
	if why := missing(x.standing(s, i)); why != Passed {
		if breach := x.checkWait(s, i, why); breach != "" {
			step(evBegin, s, breach)
		}
		return false
	}
	n := *s
	r := x.ruling(s.pend)
	if r.reason[i] != Passed && x.bend != bendNobodyOvertaken {
		breach := x.refuse(&n, i, r)
		step(evRejudge, &n, breach)
		return true
	}
	if x.bend == bendRaiseAtBegin {
		for _, after := range x.arrival(n.pend, i).rises {
			n.pend = after
			x.overtake(&n, i)
		}
	}
	breach := x.checkBegin(s, i)
	x.begin(&n, i)
	step(evBegin, &n, breach)
	return true
}

// begin turns a permit into a begun one, or lets an ask through.
func (x *explorer) begin(n *state, i int) {
	if x.requests[i].ask {
		n.phase[i] = over
		x.answer(n, i)
		return
	}
	n.phase[i], n.slot[i] = begun, sent
}

// done is what Permit.Done makes of an outcome.
func (x *explorer) done(n *state, i int, o Outcome) (breach string) {
	settle := x.settleOf(n)
	cut := n.phase[i] == cutOff
	n.phase[i] = over
	if leavesEntry(o, settle) && x.bend != bendNoEntry {
		n.phase[i] = settling
		if x.bend == bendEntryAfterPermit {
			n.phase[i] = limbo
		}
	}
	switch {
	case o == Uncertain:
		n.slot[i] = x.drift(n.slot[i], settle)
	case o == Definite:
		x.answer(n, i)
		if x.bend == bendEarlyAnswerIsDefinite {
			n.slot[i] = x.drift(n.slot[i], settle)
		} else {
			n.slot[i] = nowhere
		}
	case x.bend == bendCutIsNotSent && cut:
		n.slot[i] = x.drift(n.slot[i], settle)
	default:
		n.slot[i] = nowhere
	}
	return ""
}

// drift is what becomes of a write when nobody waits for it any more (A2).
func (x *explorer) drift(k slot, settle time.Duration) slot {
	if k != sent || settle == 0 {
		return nowhere
	}
	return adrift + slot(settle/unit)
}
