package fence

import (
	"testing"
	"time"
)

// TestWaiterIsEmptyWhenItIsGivenBack: a Begin that gave up in the moment in which
// it was told leaves nothing behind that the next one would take for its own.
func TestWaiterIsEmptyWhenItIsGivenBack(t *testing.T) {
	g, err := Start(t.Context(), newFakeLedger(), Options{MaxWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	three := func(p *passage) (w [3]*waiter) {
		for i := range w {
			w[i] = g.takeWaiter(g.opts.MaxWait)
			w[i].next, p.waiters = p.waiters, w[i]
		}
		return w
	}
	for gone := range 3 {
		for _, told := range []bool{false, true} {
			p := &passage{phase: ready}
			w := three(p)
			p.phase = begun
			if told {
				p.tell()
				p.leave(w[gone])
			} else {
				p.leave(w[gone])
				p.tell()
			}
			for i := range w {
				if want := i != gone; len(w[i].moved) == 1 != want || w[i].next != nil || p.waiters != nil {
					t.Errorf("%d of 3 gave up, told before: %v: told to the one at %d: %v", gone, told, i, len(w[i].moved) == 1)
				} else if want && !<-w[i].moved {
					t.Errorf("the one at %d was not told that it has begun", i)
				}
				g.giveBack(w[i])
			}
		}
	}
	if n := len(g.spareWaiters); n != 3 {
		t.Errorf("%d waiters are kept, want the 3 that were ever needed", n)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
