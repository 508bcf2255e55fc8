package fence

import "fmt"

// ruling is what the rules say of every request by one set of rows.
type ruling struct {
	// judged by enforced touches, as waiting permits are judged again.
	reason [maxRequests]Reason
	wrong  [maxRequests]string // why that verdict is not true, if it is not
	// covered, and the explorer's own view of whether all is on record.
	covered, recorded uint16
	arrivals          [maxRequests]*arrival
}

// arrival is what the one atomic step of an arrival does.
type arrival struct {
	reason Reason
	wrong  string
	rises  []rows // after each raise
}

func (x *explorer) ruling(now rows) *ruling {
	if r := x.rulings[now]; r != nil {
		return r
	}
	r := &ruling{}
	x.rulings[now] = r
	for i := range x.requests {
		q := &x.requests[i]
		isCovered, isRecorded := true, true
		for k := range q.touches {
			t := &q.touches[k]
			if !t.Policy.Enforced() {
				continue
			}
			s := x.sight(q, k, now)
			if v := judge(t, &s); !v.OK() && r.reason[i] == Passed {
				r.reason[i] = v.Reason
				r.wrong[i] = x.untrue(t, v.Reason, now, nil)
			}
			isCovered = isCovered && covered(t, &s)
			isRecorded = isRecorded && x.recorded(t, now)
		}
		if isCovered {
			r.covered |= 1 << i
		}
		if isRecorded {
			r.recorded |= 1 << i
		}
	}
	return r
}

// sight is what a touch sees of rows, as the gate's nodes gather it.
func (x *explorer) sight(q *sending, touch int, now rows) sight {
	s := sight{global: x.global}
	for k := range x.keys {
		row := x.row(now, k)
		switch p := q.sees[touch][k]; {
		case p.above:
			s.above = append(s.above, &row)
		case p.below && row.Token != NoToken: // a ledger has no rows without a token
			s.below.add(&q.touches[touch], row)
		}
	}
	return s
}

func (x *explorer) row(now rows, k int) Row {
	return Row{Key: x.keys[k], Token: now[k].token(), Owner: now[k].owner()}
}

// arrival judges a request and raises its rows, as Gate.judgeAndRaise does.
func (x *explorer) arrival(before rows, i int) *arrival {
	r := x.ruling(before)
	if a := r.arrivals[i]; a != nil {
		return a
	}
	a := &arrival{reason: r.reason[i], wrong: r.wrong[i]}
	r.arrivals[i] = a
	q := &x.requests[i]
	if a.reason == Passed && len(q.touches) > 1 {
		if v := judgeSiblings(q.touches); !v.OK() && q.touches[v.Touch].Policy.Enforced() {
			a.reason = v.Reason
			a.wrong = x.untrue(&q.touches[v.Touch], v.Reason, before, q)
		}
	}
	if a.reason == Passed {
		a.rises, a.wrong = x.raises(before, i)
	}
	return a
}

// raises returns the rows after each raise of a request that passed, and what
// is wrong with one of them.
func (x *explorer) raises(now rows, i int) (rises []rows, wrong string) {
	q := &x.requests[i]
	for k := range q.touches {
		t := &q.touches[k]
		s := x.sight(q, k, now)
		if covered(t, &s) || !t.Policy.Enforced() && !judge(t, &s).OK() {
			continue
		}
		if t.Passive {
			wrong = "rows: a touch that destroys nothing raises one"
		}
		key := q.keys[k]
		old := x.row(now, key)
		now[key] = pairOf(t.Token, t.Owner)
		if !x.row(now, key).Above(old) {
			wrong = fmt.Sprintf("rows: %s falls from (%d,%s) to (%d,%s)", old.Path, old.Token, string(old.Owner), t.Token, string(t.Owner))
		}
		rises = append(rises, now)
	}
	return rises, wrong
}

// untrue checks a refusal against the rows, and those that the same request
// brings with it, by the words of the contract.
func (x *explorer) untrue(t *Touch, why Reason, now rows, siblings *sending) string {
	higherAbove := t.Token < x.global
	var higherBelow, conflict, any bool
	look := func(k Key, p pair) {
		above := k.Path == t.Fence && !(t.Passive && k.Kind == Mark) ||
			k.Kind == Floor && within(t.Fence.Key(), k.Path.Key())
		below := t.Tree && within(k.Path.Key(), t.Fence.Key())
		if !above && !below || p.token() == NoToken {
			return
		}
		any = true
		higherAbove = higherAbove || above && p.token() > t.Token
		higherBelow = higherBelow || below && p.token() > t.Token
		conflict = conflict || p.token() == t.Token && p.owner() != t.Owner && p.owner() != NoOwner && t.Owner != NoOwner
	}
	for k := range x.keys {
		look(x.keys[k], now[k])
	}
	if siblings != nil {
		for i := range siblings.touches {
			if o := &siblings.touches[i]; o != t {
				look(x.keys[siblings.keys[i]], pairOf(o.Token, o.Owner))
			}
		}
	}
	ok := false
	switch why {
	case StaleToken:
		ok = t.Token != NoToken && higherAbove
	case TreeFenced:
		ok = t.Token != NoToken && !higherAbove && higherBelow
	case OwnerConflict:
		ok = !higherAbove && !higherBelow && conflict
	case TokenMissing:
		ok = t.Token == NoToken && !(t.Passive && !t.FenceTree) && (t.Policy == Require || any || x.global > NoToken)
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("refusal: %s of a touch of %s with (%d,%s), by rows that do not say so", why, t.Object, t.Token, string(t.Owner))
}

// recorded reports whether rows say all that a touch relies on (S5): its token
// and its owner, in a row that holds for all of its fence.
func (x *explorer) recorded(t *Touch, now rows) bool {
	if t.Token == NoToken || t.Passive {
		return true
	}
	whole := t.Tree || t.FenceTree
	for k, key := range x.keys {
		holds := key.Path == t.Fence && (key.Kind == Floor || !whole) || key.Kind == Floor && within(t.Fence.Key(), key.Path.Key())
		p := now[k]
		if holds && (p.token() > t.Token || p.token() == t.Token && (t.Owner == NoOwner || p.owner() == t.Owner)) {
			return true
		}
	}
	return false
}
