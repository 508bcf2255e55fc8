package fence

import "time"

// Steps of the ledger and of the process, in the order of commit.go and stop.go.

// endWaiting ends all that has not begun.
func (x *explorer) endWaiting(n *state, enforcedOnly bool) {
	for i := range x.requests {
		if n.phase[i] <= ready && (x.requests[i].enforced || !enforcedOnly) {
			n.phase[i] = over
		}
	}
}

func (x *explorer) commitSteps(s *state, out emit) (moves bool) {
	if s.failed || s.closed {
		return false
	}
	if !s.committing {
		n := *s
		n.batch = s.dur
		for k := range x.keys {
			if x.row(s.pend, k).Above(x.row(s.dur, k)) {
				n.batch[k] = s.pend[k]
			}
		}
		if n.batch == s.dur {
			return false
		}
		n.committing = true
		out(event{kind: evCommit}, &n, "")
		return true
	}
	n := *s
	n.committing, n.batch = false, rows{}
	n.disk, n.dur = s.batch, s.batch
	switch x.bend {
	case bendCommitTakesAllPending:
		n.dur = s.pend
	case bendCommitRecordsOneRow:
		n.disk = s.disk
		for k := range x.keys {
			if s.batch[k] != s.disk[k] {
				n.disk[k] = s.batch[k]
				break
			}
		}
	case bendFlagClearedAtFirstCommit:
		n.clean = false
	}
	out(event{kind: evCommitOK}, &n, "")
	if s.failCount < x.failures {
		for _, kept := range []bool{false, true} {
			n := *s
			n.committing, n.batch = false, rows{}
			n.failCount++
			n.broken, n.failed = true, true
			switch x.bend {
			case bendFailureNotLatched:
				n.failed = false
			case bendFailureIsSuccess:
				n.failed, n.dur = false, s.batch
			default:
				x.endWaiting(&n, true)
			}
			kind := evFailLost
			if kept {
				n.disk, kind = s.batch, evFailKept
			}
			out(event{kind: kind}, &n, "")
		}
	}
	return true
}

// stopSteps are those of Drain, Stop and the end of the process after it.
func (x *explorer) stopSteps(s *state, out emit) (moves bool) {
	n := *s
	switch {
	case !s.draining:
		if s.stopCount < x.stops {
			n.draining = true
			out(event{kind: evDrain}, &n, "")
		}
		return false
	case !s.stopped: // all is finished, or the drain limit is exceeded
		n.stopped = true
		if x.bend != bendBeginAfterStop {
			x.endWaiting(&n, false)
		}
		if x.bend == bendStopForgetsEntries {
			for i := range x.requests {
				if n.phase[i] == settling {
					n.phase[i] = over
				}
			}
		}
		out(event{kind: evStop}, &n, "")
	case !s.closed:
		if s.committing || !s.failed && s.pend != s.dur {
			return false
		}
		begunNow, entries := 0, 0
		for i := range x.requests {
			switch s.phase[i] {
			case begun, cutOff:
				begunNow++
			case settling:
				entries++
			}
		}
		n.closed = true
		n.clean = endsClean(begunNow, entries, s.hold > 0, s.failed)
		out(event{kind: evClose}, &n, "")
	default:
		n.stopCount++
		x.down(&n, x.settleOf(s))
		out(event{kind: evExit}, &n, "")
	}
	return true
}

// down is what the end of a process, in whatever way, leaves.
func (x *explorer) down(n *state, settle time.Duration) {
	*n = state{
		crashCount: n.crashCount, stopCount: n.stopCount, failCount: n.failCount,
		clean: n.clean, settle: n.settle, disk: n.disk, phase: n.phase, slot: n.slot,
		last: n.last, answered: n.answered, owner: n.owner,
	}
	for i := range x.requests {
		switch n.phase[i] {
		case unsent:
			continue
		case begun, cutOff:
			n.slot[i] = x.drift(n.slot[i], settle)
		}
		if n.phase[i] != refused || n.slot[i] == nowhere {
			n.phase[i] = over
		}
	}
}

// restart takes the ledger into use, as Start does.
func (x *explorer) restart(n *state) {
	now := x.settleOf(n)
	m := Meta{Clean: n.clean, Settle: time.Duration(n.settle) * unit}
	hold := holdAfter(m, now)
	switch x.bend {
	case bendNoHold:
		hold = 0
	case bendOwnSettleStored:
		m.Settle = 0
	}
	m.StartedWith(now)
	if x.bend == bendFlagClearedAtFirstCommit {
		m.Clean = n.clean
	}
	n.up, n.hold = true, uint8(hold/unit)
	n.clean, n.settle = m.Clean, uint8(m.Settle/unit)
	n.pend, n.dur = n.disk, n.disk
}
