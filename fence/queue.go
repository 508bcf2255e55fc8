package fence

// queue keeps the touches that wait at a node, in order of arrival. The links
// are part of the touches, so that joining and leaving cost no allocation.
type queue struct{ first, last *place }

// place is a touch's place in a queue; the zero place is in none.
type place struct {
	held       *held
	prev, next *place
}

func (q *queue) add(p *place, h *held) {
	p.held, p.prev = h, q.last
	if q.last == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
}

// remove takes p out of q, if it is in it.
func (q *queue) remove(p *place) {
	if p.held == nil {
		return
	}
	if p.prev == nil {
		q.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	*p = place{}
}

// each calls f for every touch. f must not change the queue.
func (q *queue) each(f func(*held)) {
	for p := q.first; p != nil; p = p.next {
		f(p.held)
	}
}
