package fence

import "time"

// waiter is one Begin that waits for its permit to move. It has a channel and a
// timer of its own, and both are used again: a write whose token rises always
// waits, for its row.
type waiter struct {
	moved chan bool // gets one element: whether the permit has begun
	limit *time.Timer
	next  *waiter // of the same permit
}

// takeWaiter returns a waiter whose time, limit, begins now.
func (g *Gate) takeWaiter(limit time.Duration) *waiter {
	select {
	case w := <-g.spareWaiters:
		w.limit.Reset(limit)
		return w
	default:
		return &waiter{moved: make(chan bool, 1), limit: time.NewTimer(limit)}
	}
}

// giveBack keeps w, which must have nothing to take and be in no list. It needs
// no lock, so that who was told that it has begun can go without the gate's.
func (g *Gate) giveBack(w *waiter) {
	w.limit.Stop()
	select {
	case g.spareWaiters <- w:
	default: // a rush is over
	}
}

// tell wakes whoever waits for the permit to move.
func (p *passage) tell() {
	for w := p.waiters; w != nil; {
		next := w.next
		w.next = nil // with the next line it is its owner's again
		w.moved <- p.phase == begun
		w = next
	}
	p.waiters = nil
}

// leave takes a waiter out of the permit's list, or, where it has been told
// meanwhile, takes what it was told.
func (p *passage) leave(w *waiter) {
	for at := &p.waiters; *at != nil; at = &(*at).next {
		if *at == w {
			*at, w.next = w.next, nil
			return
		}
	}
	<-w.moved
}
