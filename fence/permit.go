package fence

import (
	"context"
	"time"
)

// Permit is one request's way through the gate: it arrives, waits for its turn,
// begins, and is done. Its methods may be called from any goroutine.
type Permit struct {
	gate     *Gate
	touches  []held
	ask      bool
	stream   bool
	enforced bool

	// Guarded by the gate's lock.
	phase       phase
	verdict     Verdict // why the permit is over, when it never began
	observed    Verdict
	moved       chan struct{} // closed when the permit begins or is over; made when asked for
	overtaken   bool          // it cannot begin any more, or is a stream that was cut off
	onOvertaken func()        // told of that
	end         time.Time     // of the entry
	prev        *Permit
	next        *Permit
}

type phase uint8

const (
	staging  phase = iota // the body is on its way
	ready                 // waits to begin
	begun                 // may be upstream
	settling              // done, but may still take effect
	over
)

// Observed returns what an enforced policy would have answered, for requests
// that pass only because their policy does not refuse. It does not change.
func (p *Permit) Observed() Verdict { return p.observed }

// OnOvertaken has stop called, once and in a goroutine of its own, when the
// permit can no longer begin, so that an upload in progress can end; Begin then
// tells why. For a stream that has begun it is called when a newer token cuts it
// off. It may be called late, when the permit is done. Only the last stop that
// was given counts.
func (p *Permit) OnOvertaken(stop func()) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.onOvertaken = stop
	if p.overtaken {
		go stop()
	}
}

// stopUpload tells whoever feeds the permit that it is of no use any more.
func (p *Permit) stopUpload() {
	p.overtaken = true
	if p.onOvertaken != nil {
		go p.onOvertaken()
	}
}

// movedLocked makes the channel on first use.
func (p *Permit) movedLocked() chan struct{} {
	if p.moved == nil {
		p.moved = make(chan struct{})
		if p.phase >= begun {
			close(p.moved)
		}
	}
	return p.moved
}

// Begin says that the request is complete and waits until it may go upstream,
// at most the gate's MaxWait. With a passing verdict a write has begun, and
// Done must follow; an ask is through, and nothing need follow. With any other
// verdict the permit is over. When ctx ends first the reason is ClientGone.
func (p *Permit) Begin(ctx context.Context) Verdict {
	g := p.gate
	g.mu.Lock()
	if p.phase == staging {
		p.phase = ready
	}
	if p.phase == ready && ctx.Err() == nil {
		g.tryBegin(p)
	}
	if p.phase != ready {
		defer g.mu.Unlock()
		return p.verdict
	}
	moved := p.movedLocked()
	g.mu.Unlock()

	limit := time.NewTimer(g.opts.MaxWait)
	defer limit.Stop()
	gone := false
	select {
	case <-moved:
	case <-limit.C:
	case <-ctx.Done():
		gone = true
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	if p.phase == ready {
		p.verdict = g.giveUp(p)
		if gone {
			p.verdict = Verdict{Reason: ClientGone}
		}
		g.end(p)
	}
	return p.verdict
}

// Done says what became of a write that began. Before calling it with
// Uncertain the caller resets the upstream connection, since the settle time
// runs from here. Only the first call counts.
func (p *Permit) Done(o Outcome) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.phase != begun {
		return
	}
	g.begun--
	if leavesEntry(o, g.opts.Settle) {
		// The touches stay active: what waits for them goes on waiting.
		p.phase = settling
		p.end = time.Now().Add(g.opts.Settle)
		g.active.remove(p)
		g.settling.add(p)
		g.entries++
		g.armSettle()
	} else {
		g.active.remove(p)
		g.settle(p)
	}
	g.checkQuiet()
}

// Withdraw ends a permit whose write was not sent; when the permit is already
// over it does nothing, so it can be deferred. Rows that it raised stay.
func (p *Permit) Withdraw() {
	p.Done(NotSent)
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.phase <= ready {
		p.verdict = Verdict{Reason: ClientGone}
		p.gate.end(p)
	}
}

// permits is a list of permits, oldest first. A permit is in one list at most.
type permits struct{ first, last *Permit }

func (l *permits) add(p *Permit) {
	p.prev, p.next = l.last, nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

func (l *permits) remove(p *Permit) {
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
func (l *permits) all() []*Permit {
	var out []*Permit
	for p := l.first; p != nil; p = p.next {
		out = append(out, p)
	}
	return out
}
