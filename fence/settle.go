package fence

import "time"

// armSettle sets the timer for the entry that ends first.
func (g *Gate) armSettle() {
	if e := g.settling.first; e != nil && !g.stopped {
		g.settleTimer.Reset(time.Until(e.end))
	}
}

// settleDue ends the entries whose time has come. All entries last the same
// time, so the first of the list ends first.
func (g *Gate) settleDue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for e := g.settling.first; e != nil && !e.end.After(now); e = g.settling.first {
		g.settling.remove(e)
		g.entries--
		g.settle(e)
	}
	g.armSettle()
}

// holdOver ends the hold after an unclean start.
func (g *Gate) holdOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding = false
	g.wake(g.waiting.all())
}
