package fence

import (
	"strings"
	"testing"
	"time"
)

// TestClockChanges: the hold and the entries end by the monotonic clock, which
// nobody can set. A time that has lost its reading of it prints without "m=".
func TestClockChanges(t *testing.T) {
	for name, clean := range map[string]bool{"the hold": false, "an entry": true} {
		t.Run(name, func(t *testing.T) {
			l := newFakeLedger()
			l.meta.Clean = clean
			g, err := Start(t.Context(), l, Options{Settle: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			end := func() time.Time { return g.holdEnd }
			if clean {
				p := arrive(t, g, put("/r", 1, "a"))
				if v := p.Begin(t.Context()); !v.OK() {
					t.Fatal(v.Reason)
				}
				p.Done(Uncertain)
				end = func() time.Time { return g.settling.first.end }
			}
			g.mu.Lock()
			if at := end().String(); !strings.Contains(at, " m=") {
				t.Errorf("%s ends at %s, by the wall clock", name, at)
			}
			g.mu.Unlock()
			if err := g.Stop(t.Context()); err != nil || *l.closed {
				t.Errorf("stopped clean %t, error %v", *l.closed, err)
			}
		})
	}
}
