package fence

import (
	"fmt"
	"strings"
)

// The promises, checked by the words of doc.go and without the rules. A breach
// is told as "promise: what happened".

// either returns the first of two breaches, if it is of a promise looked for,
// else the second.
func (x *explorer) either(first, second string) string {
	if first != "" && (x.only == "" || strings.HasPrefix(first, x.only+":")) {
		return first
	}
	return second
}

// checkBegin checks what must hold when a request begins.
func (x *explorer) checkBegin(s *state, i int) (breach string) {
	q := &x.requests[i]
	if s.broken {
		breach = "S6: " + q.name + " begins after the ledger failed"
	}
	if x.ruling(s.disk).recorded&(1<<i) == 0 {
		breach = x.either(breach, "S5: "+q.name+" begins, but its token or owner is not on disk")
	}
	for k := range q.touches {
		if t := &q.touches[k]; t.Policy == Require && t.Token == NoToken && (!t.Passive || t.FenceTree) {
			breach = x.either(breach, "policy: "+q.name+" begins without the token that is required")
		}
	}
	for j := range x.requests {
		if q.overlaps&(1<<j) != 0 && (s.slot[j] == sent || s.slot[j] > adrift) {
			breach = x.either(breach, fmt.Sprintf("turn: %s begins on an object where %s may still take effect", q.name, x.requests[j].name))
		}
	}
	return breach
}

// checkWait checks that a request that has to wait waits for something.
func (x *explorer) checkWait(s *state, i int, why Reason) string {
	if why != Settling && why != Busy {
		return ""
	}
	for j := range x.requests {
		if x.requests[i].inTheWay&(1<<j) == 0 {
			continue
		}
		switch s.phase[j] {
		case begun, cutOff, settling:
			return ""
		}
	}
	return fmt.Sprintf("liveness: %s waits (%s), and nothing is in its way", x.requests[i].name, why)
}

// checkWaiting checks that nobody waits who can never begin.
func (x *explorer) checkWaiting(s *state) string {
	if !s.up {
		return ""
	}
	r := x.ruling(s.pend)
	for i := range x.requests {
		if s.phase[i] <= ready && x.requests[i].enforced && r.reason[i] != Passed {
			return fmt.Sprintf("overtaking: %s can never begin (%s), and has not been told", x.requests[i].name, r.reason[i])
		}
	}
	return ""
}

// checkStuck checks a state in which nothing more comes by itself.
func (x *explorer) checkStuck(s *state) string {
	for i := range x.requests {
		if s.phase[i] == ready {
			return "liveness: " + x.requests[i].name + " waits for ever"
		}
	}
	return ""
}

// effect is what the upstream does with a write, whenever it is allowed to.
// Writes under open and observe are promised nothing, and nothing is promised
// of them.
func (x *explorer) effect(n *state, i int) (breach string) {
	q := &x.requests[i]
	if n.phase[i] == refused {
		breach = "S4: " + q.name + " takes effect after it was refused"
	}
	note := func(format string, args ...any) {
		breach = x.either(breach, fmt.Sprintf(format, args...))
	}
	for k := range q.touches {
		t := &q.touches[k]
		if !t.Policy.Enforced() || t.Passive {
			continue
		}
		token := uint8(t.Token)
		for p, place := range x.places {
			if q.objects[k]&(1<<p) != 0 {
				if token < n.last[p] {
					note("S1: %s takes effect on %s with token %d after token %d", q.name, place, token, n.last[p])
				}
				if token < n.answered[p] {
					note("S2: %s takes effect on %s with token %d after token %d was answered", q.name, place, token, n.answered[p])
				}
				n.last[p] = max(n.last[p], token)
			}
			if (q.objects[k]|q.fenced[k])&(1<<p) != 0 && token > 0 && t.Owner != NoOwner {
				owner := uint8(pairOf(t.Token, t.Owner)) & 3
				if had := n.owner[p][token]; had != 0 && had != owner {
					note("S3: %s takes effect on %s with token %d and a second owner", q.name, place, token)
				}
				n.owner[p][token] = owner
			}
		}
	}
	return breach
}

// answer notes that clients may now rely on S2.
func (x *explorer) answer(n *state, i int) {
	q := &x.requests[i]
	for k := range q.touches {
		t := &q.touches[k]
		if !t.Policy.Enforced() || t.Passive {
			continue
		}
		for p := range x.places {
			if q.fenced[k]&(1<<p) != 0 {
				n.answered[p] = max(n.answered[p], uint8(t.Token))
			}
		}
	}
}
