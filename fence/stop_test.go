package fence

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopDrains(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/r", 1, "a"))
		begin(t, a)
		stopped := make(chan error, 1)
		go func() { stopped <- g.Stop(t.Context()) }()
		synctest.Wait()
		refuse(t, g, Draining, put("/s", 1, "b"))
		if l.closed != nil {
			t.Fatal("closed with a write in flight")
		}
		a.Done(Definite)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		if !*l.closed {
			t.Error("not clean although nothing was left")
		}
	})
}

func TestStopIsUncleanWhenSomethingMayStillLand(t *testing.T) {
	settle := Options{Settle: time.Minute}
	for name, c := range map[string]struct {
		opts  Options
		clean bool // before
		do    func(t *testing.T, g *Gate)
	}{
		"a begun write": {settle, true, func(t *testing.T, g *Gate) { begin(t, arrive(t, g, put("/r", 1, "a"))) }},
		"an entry": {settle, true, func(t *testing.T, g *Gate) {
			p := arrive(t, g, put("/r", 1, "a"))
			begin(t, p)
			p.Done(Uncertain)
		}},
		"the hold": {settle, false, func(*testing.T, *Gate) {}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newFakeLedger()
			l.meta.Clean = c.clean
			conversation(t, l, c.opts, func(t *testing.T, g *Gate) {
				c.do(t, g)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := g.Stop(ctx); err != nil {
					t.Error(err)
				}
			})
			if *l.closed {
				t.Error("stopped clean")
			}
		})
	}
}

func TestStopRefusesWhatStillWaits(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		begin(t, arrive(t, g, put("/r", 1, "a")))
		b := beginning(t, arrive(t, g, put("/r", 2, "b")))
		staging := arrive(t, g, put("/s", 1, "c"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if v := b.verdict(t); v.Reason != Draining {
			t.Errorf("%q", v.Reason)
		}
		if v := staging.Begin(t.Context()); v.Reason != Draining {
			t.Errorf("began after the last transaction: %q", v.Reason)
		}
	})
}

// A look-up that nobody waits for any more still reads the ledger.
func TestLookUpEndsBeforeTheLedgerIsClosed(t *testing.T) {
	for name, hook := range map[string]func(*fakeLedger, func()){
		"rows":       func(l *fakeLedger, f func()) { l.onRead = f },
		"rows below": func(l *fakeLedger, f func()) { l.onBelow = f },
	} {
		t.Run(name, func(t *testing.T) {
			l := newFakeLedger()
			conversation(t, l, Options{MaxWait: time.Second}, func(t *testing.T, g *Gate) {
				release := make(chan struct{})
				hook(l, func() { <-release })
				refuse(t, g, LedgerUnavailable, tree("/d", 1, "a"))
				stopped := make(chan error, 1)
				go func() { stopped <- g.Stop(t.Context()) }()
				synctest.Wait()
				if l.closed != nil {
					t.Error("closed while it was read")
				}
				close(release)
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
