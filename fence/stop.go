package fence

import (
	"context"
	"errors"
)

// ErrStopped means that the gate has been stopped.
var ErrStopped = errors.New("the gate has stopped")

// Drain refuses arrivals, waits until nothing is in flight or ctx ends, and
// refuses what still waits. Nothing begins after it.
func (g *Gate) Drain(ctx context.Context) {
	g.mu.Lock()
	if g.draining {
		g.mu.Unlock()
		<-g.stopping // by the first call
		return
	}
	g.draining = true
	g.checkQuiet()
	g.mu.Unlock()

	select {
	case <-g.quiet:
	case <-ctx.Done():
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	close(g.stopping)
	for _, p := range g.waiting.all() {
		if p.phase <= ready {
			p.verdict = Verdict{Reason: Draining}
			g.end(p)
		}
	}
	g.settleTimer.Stop()
	if g.holdTimer != nil {
		g.holdTimer.Stop()
	}
}

// Stop drains the gate and closes the ledger: clean only if nothing can take
// effect any more. Whoever gives up storage too calls Drain, gives it up, and
// then calls Stop, so that who waits for the ledger finds all the rest free.
// Only the first call has an effect.
func (g *Gate) Stop(ctx context.Context) error {
	g.Drain(ctx)
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrStopped
	}
	g.closed = true
	g.mu.Unlock()

	g.committed.Wait()
	g.reading.Wait()

	g.mu.Lock()
	clean := endsClean(g.begun, g.entries, g.holding, g.failed != nil)
	g.mu.Unlock()
	return g.ledger.Close(clean)
}

// checkQuiet tells Stop when nothing is in flight any more.
func (g *Gate) checkQuiet() {
	if g.draining && g.begun == 0 && g.waiters == 0 && !g.isQuiet {
		g.isQuiet = true
		close(g.quiet)
	}
}

// State is what the gate is doing, for health checks and gauges.
type State struct {
	Failed     error // the ledger's failure, for good
	Full       bool  // the last commit found no space, and is tried again
	Recovering bool  // the hold after an unclean start is not over
	Draining   bool  // arrivals are refused
	Waiting    int   // requests that have not begun
	Begun      int   // writes that may be upstream
	Settling   int   // writes in doubt
	Paths      int   // paths in memory
}

// State returns a snapshot.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return State{
		Failed: g.failed, Full: g.full, Recovering: g.holding, Draining: g.draining,
		Waiting: g.waiters, Begun: g.begun, Settling: g.entries, Paths: len(g.nodes.all),
	}
}
