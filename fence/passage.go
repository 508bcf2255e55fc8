package fence

import (
	"strings"
	"time"
)

// passage is what the gate knows of a permit. It is found from the permit, from
// the one list of permits that it is in, and from the nodes of its touches. All
// fields are guarded by the gate's lock.
type passage struct {
	touches  []held
	ask      bool
	stream   bool
	enforced bool

	phase       phase
	verdict     Verdict // why the permit is over, when it never began
	observed    Verdict
	waiters     *waiter   // to be told when the permit begins or is over
	overtaken   bool      // it cannot begin any more, or is a stream that was cut off
	onOvertaken func()    // told of that
	end         time.Time // of the entry
	prev        *passage
	next        *passage
}

// stopUpload tells whoever feeds the permit that it is of no use any more.
func (p *passage) stopUpload() {
	p.overtaken = true
	if p.onOvertaken != nil {
		go p.onOvertaken()
	}
}

// keep makes the permit, which becomes an entry, independent of the request that
// it is of.
func (p *passage) keep() {
	for i := range p.touches {
		s := &p.touches[i].Stamp
		s.Owner, s.Client = Owner(strings.Clone(string(s.Owner))), strings.Clone(s.Client)
	}
}

// giveBack parts a permit that went well from its passage, which may then be
// used again: the permit was all that still led to it, and from now on leads to
// one that is over and has nothing to tell. Permits that do have something to
// tell, and entries, keep theirs for good.
func (p *Permit) giveBack() {
	if p.phase != over || p.passage == &p.gate.spent ||
		!p.verdict.OK() || !p.observed.OK() || p.overtaken || !p.end.IsZero() {
		return
	}
	p.gate.spare.put(p.passage)
	p.passage = &p.gate.spent
}

// spare keeps passages that nothing leads to any more, so that a request costs
// no allocation. What it keeps is bounded, to give back what a rush took.
type spare struct {
	first *passage
	n     int
}

const (
	maxSpare        = 1024
	maxSpareTouches = 8 // of one passage
)

// take returns a passage for r.
func (s *spare) take(r *Request) *passage {
	p := s.first
	if p == nil {
		p = new(passage)
	} else {
		s.first, p.next = p.next, nil
		s.n--
	}
	p.ask, p.stream = r.Ask, r.Stream
	if cap(p.touches) < len(r.Touches) {
		p.touches = make([]held, len(r.Touches))
	}
	p.touches = p.touches[:len(r.Touches)]
	for i := range p.touches {
		h := &p.touches[i]
		h.Touch, h.permit = r.Touches[i], p
		if h.Policy == Open {
			h.Stamp = Stamp{} // its number is not judged, so it means nothing
		}
		p.enforced = p.enforced || h.Policy.Enforced()
	}
	return p
}

// put keeps p, wiped: it must be in no list and registered at no node.
func (s *spare) put(p *passage) {
	if s.n == maxSpare || cap(p.touches) > maxSpareTouches {
		return
	}
	clear(p.touches)
	*p = passage{touches: p.touches[:0], next: s.first}
	s.first = p
	s.n++
}

// permits is a list of permits, oldest first. A permit is in one list at most.
type permits struct{ first, last *passage }

func (l *permits) add(p *passage) {
	p.prev, p.next = l.last, nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

func (l *permits) remove(p *passage) {
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
}

// all copies the list, for callers that change it on the way.
func (l *permits) all() []*passage {
	var out []*passage
	for p := l.first; p != nil; p = p.next {
		out = append(out, p)
	}
	return out
}
