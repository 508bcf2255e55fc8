package fence

import (
	"context"
	"time"
)

// Permit is one request's way through the gate: it arrives, waits for its turn,
// begins, and is done. Its methods may be called from any goroutine. It must not
// be copied.
type Permit struct {
	_        noCopy
	gate     *Gate
	*passage // guarded by the gate's lock
}

// noCopy has go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

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
func (p *Permit) Observed() Verdict {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.observed
}

// OnOvertaken has stop called, once and in a goroutine of its own, when the
// permit can no longer begin, so that an upload in progress can end; Begin then
// tells why. For a stream that has begun it is called when a newer token cuts it
// off. It may be called late, when the permit is done. Only the last stop that
// was given counts.
func (p *Permit) OnOvertaken(stop func()) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.overtaken {
		go stop()
	}
	if p.phase != over {
		p.onOvertaken = stop
	}
}

// Begin says that the request is complete and waits until it may go upstream,
// at most the gate's MaxWait. With a passing verdict a write has begun, and
// Done must follow; an ask is through, and nothing need follow. With any other
// verdict the permit is over. When ctx ends first the reason is ClientGone; see
// Options.Unwatched.
func (p *Permit) Begin(ctx context.Context) Verdict {
	g := p.gate
	g.mu.Lock()
	if p.phase == staging {
		p.phase = ready
	}
	first := min(g.opts.Unwatched, g.opts.MaxWait)
	if ctx.Err() != nil {
		first = 0
	} else if p.phase == ready {
		g.tryBegin(p.passage)
	}
	if p.phase != ready {
		defer g.mu.Unlock()
		return p.answer()
	}
	limit := first
	if first == 0 {
		limit = g.opts.MaxWait
	}
	w := g.takeWaiter(limit)
	w.next, p.waiters = p.waiters, w
	g.mu.Unlock()

	defer g.giveBack(w)
	began, told, gone := false, false, false
	if first > 0 {
		select {
		case began = <-w.moved:
			told = true
		case <-w.limit.C:
			w.limit.Reset(g.opts.MaxWait - first)
		}
	}
	if !told {
		select {
		case began = <-w.moved:
			told = true
		case <-w.limit.C:
		case <-ctx.Done():
			gone = true
		}
	}
	if began { // with nothing more to tell
		return Verdict{}
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	if !told {
		p.leave(w)
	}
	if p.phase == ready {
		p.verdict = g.giveUp(p.passage)
		if gone {
			p.verdict = Verdict{Reason: ClientGone}
		}
		g.end(p.passage)
	}
	return p.answer()
}

// answer is Begin's, once the permit no longer waits.
func (p *Permit) answer() Verdict {
	v := p.verdict
	p.giveBack()
	return v
}

// Done says what became of a write that began. Before calling it with
// Uncertain the caller resets the upstream connection, since the settle time
// runs from here. Only the first call counts.
func (p *Permit) Done(o Outcome) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.done(o)
}

func (p *Permit) done(o Outcome) {
	g := p.gate
	if p.phase != begun {
		return
	}
	g.begun--
	if leavesEntry(o, g.opts.Settle) {
		// The touches stay active: what waits for them goes on waiting.
		p.phase = settling
		p.keep()
		p.end = time.Now().Add(g.opts.Settle)
		g.active.remove(p.passage)
		g.settling.add(p.passage)
		g.entries++
		g.armSettle()
	} else {
		g.active.remove(p.passage)
		g.settle(p.passage)
		p.giveBack()
	}
	g.checkQuiet()
}

// Withdraw ends a permit whose write was not sent; when the permit is already
// over it does nothing, so it can be deferred. Rows that it raised stay.
func (p *Permit) Withdraw() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.done(NotSent)
	if p.phase <= ready {
		p.verdict = Verdict{Reason: ClientGone}
		p.gate.end(p.passage)
	}
}
