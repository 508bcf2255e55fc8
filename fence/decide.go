package fence

import "time"

// The rules of the gate, as pure functions: no clock, no lock, no I/O. The gate
// applies them under its lock; tests apply them to states of their own.
//
// Rows exist twice. Pending rows are what requests are judged by from the
// moment a newer request has arrived; durable rows are what the ledger has on
// disk, and only they let a request begin. Pending is never below durable, and
// rows only rise.

// sight is what a touch sees of one set of rows: everything that can stand in
// its way or already covers it.
type sight struct {
	// global is the global floor.
	global Token
	// above holds the mark of the touch's fence and the floors of its fence
	// and of every ancestor, in any order; rows with NoToken count for nothing.
	above []*Row
	// below sums up the rows below the fence; zero unless the touch is a tree.
	below below
}

// below sums up rows below a tree touch, as far as they matter to it.
type below struct {
	highest  Row // the row with the highest token
	conflict Row // a row with the touch's token and another owner
}

// add takes in one more row, or a row that rose.
func (b *below) add(t *Touch, r Row) {
	if r.Token > b.highest.Token {
		b.highest = r
	}
	if r.Token == t.Token && r.Owner.Conflicts(t.Owner) {
		b.conflict = r
	}
}

// judge says whether a touch passes the rows that it sees.
func judge(t *Touch, s *sight) Verdict {
	if t.Policy == Open {
		return Verdict{}
	}
	var highest, conflict *Row
	for _, r := range s.above {
		if r.Token == NoToken || t.Passive && r.Kind == Mark {
			continue
		}
		if highest == nil || r.Token > highest.Token {
			highest = r
		}
		if r.Token == t.Token && r.Owner.Conflicts(t.Owner) {
			conflict = r
		}
	}
	if t.Token == NoToken {
		return judgeTokenless(t, s, highest)
	}
	switch {
	case t.Token < s.global && (highest == nil || s.global >= highest.Token):
		return Verdict{Reason: StaleToken, Row: globalRow(s.global), Global: true}
	case highest != nil && highest.Token > t.Token:
		return Verdict{Reason: StaleToken, Row: *highest}
	case s.below.highest.Token > t.Token:
		return Verdict{Reason: TreeFenced, Row: s.below.highest}
	case conflict != nil:
		return Verdict{Reason: OwnerConflict, Row: *conflict}
	case s.below.conflict.Token != NoToken:
		return Verdict{Reason: OwnerConflict, Row: s.below.conflict}
	}
	return Verdict{}
}

// judgeTokenless judges a touch without a token by its policy.
func judgeTokenless(t *Touch, s *sight, highest *Row) Verdict {
	if t.Passive && !t.FenceTree {
		return Verdict{}
	}
	v := Verdict{Reason: TokenMissing}
	switch {
	case highest != nil:
		v.Row = *highest
	case s.below.highest.Token != NoToken:
		v.Row = s.below.highest
	case s.global != NoToken:
		v.Row, v.Global = globalRow(s.global), true
	case t.Policy == Adopt:
		return Verdict{}
	}
	return v
}

func globalRow(global Token) Row { return Row{Key: Key{Floor, Root}, Token: global} }

// covered reports whether the rows that a touch sees already say all that the
// touch would record, so that it needs no raise.
func covered(t *Touch, s *sight) bool {
	if t.Token == NoToken || t.Passive || t.Policy == Open {
		return true
	}
	for _, r := range s.above {
		if r.Kind == Mark && t.floors() {
			continue
		}
		if r.Token > t.Token || r.Token == t.Token && (t.Owner == NoOwner || r.Owner == t.Owner) {
			return true
		}
	}
	return false
}

// sees tells where a row of the given key stands to a touch: among those at or
// above its fence, among those below, or out of its sight.
func sees(t *Touch, k Key) (above, below bool) {
	switch {
	case k.Path == t.Fence:
		return true, false
	case k.Kind == Floor && k.Path.Covers(t.Fence):
		return true, false
	case t.Tree && t.Fence.Covers(k.Path):
		return false, true
	}
	return false, false
}

// judgeSiblings judges the touches of one request by the rows that the others
// of them are about to raise, so that no request raises rows that refuse it.
// Touches that are only observed raise rows too. Of the verdicts on enforced
// touches it returns the first, or else of those on observed ones.
func judgeSiblings(touches []Touch) Verdict {
	var observed Verdict
	row := new(Row)
	at := []*Row{row}
	for i := range touches {
		t := &touches[i]
		for j := range touches {
			o := &touches[j]
			if i == j || o.Token == NoToken || o.Passive {
				continue
			}
			*row = Row{Key: o.key(), Token: o.Token, Owner: o.Owner, Client: o.Client}
			var s sight
			switch above, under := sees(t, row.Key); {
			case above:
				s.above = at
			case under:
				s.below.add(t, *row)
			}
			v := judge(t, &s)
			v.Touch = i
			switch {
			case !v.OK() && t.Policy.Enforced():
				return v
			case !v.OK() && observed.OK():
				observed = v
			}
		}
	}
	return observed
}

// blocks reports whether b, a begun write or the entry of an uncertain one, is
// in the way of q: a lower token under an overlapping fence may still take
// effect, and so may any write on an overlapping object.
func blocks(b, q []Touch) bool {
	for i := range b {
		for j := range q {
			tb, tq := &b[i], &q[j]
			if tb.Token < tq.Token && tb.fenceRegion().overlaps(tq.fenceRegion()) ||
				tb.objectRegion().overlaps(tq.objectRegion()) {
				return true
			}
		}
	}
	return false
}

// standing is all that decides whether a request that passed may begin.
type standing struct {
	failed  bool // the ledger is
	stopped bool // the last transaction is being written
	holding bool // the hold after an unclean start is not over
	covered bool // by durable rows, every touch
	entry   bool // an entry blocks it
	begun   bool // a begun permit blocks it
}

// missing names the first condition that keeps a request from beginning, or
// Passed when it may begin.
func missing(s standing) Reason {
	switch {
	case s.failed, !s.covered:
		return LedgerUnavailable
	case s.stopped:
		return Draining
	case s.holding:
		return Recovering
	case s.entry:
		return Settling
	case s.begun:
		return Busy
	}
	return Passed
}

// leavesEntry reports whether a write that ended so may still take effect.
func leavesEntry(o Outcome, settle time.Duration) bool {
	return o == Uncertain && settle > 0
}

// holdAfter returns how long a start must hold everything back: writes of the
// run before may still take effect unless it stopped clean.
func holdAfter(m Meta, settle time.Duration) time.Duration {
	if m.Clean {
		return 0
	}
	return max(settle, m.Settle)
}

// endsClean reports whether a stop leaves nothing that may still take effect.
func endsClean(begun, entries int, holding, failed bool) bool {
	return begun == 0 && entries == 0 && !holding && !failed
}
