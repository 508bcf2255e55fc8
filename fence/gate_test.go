package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// conversation runs f against a gate over l, on a clock of its own, and stops
// the gate afterwards.
func conversation(t *testing.T, l *fakeLedger, opts Options, f func(t *testing.T, g *Gate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g, err := Start(t.Context(), l, opts)
		if err != nil {
			t.Fatal(err)
		}
		f(t, g)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := g.Stop(ctx); err != nil && !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	})
}

// arrive expects the request to be admitted.
func arrive(t *testing.T, g *Gate, touches ...Touch) *Permit {
	t.Helper()
	p, v := g.Arrive(t.Context(), Request{Touches: touches})
	if p == nil {
		t.Fatalf("%s is refused: %q", showTouches(touches), v.Reason)
	}
	return p
}

// refuse expects the request to be refused at its arrival.
func refuse(t *testing.T, g *Gate, want Reason, touches ...Touch) Verdict {
	t.Helper()
	p, v := g.Arrive(t.Context(), Request{Touches: touches})
	if p != nil {
		t.Fatalf("%s is admitted, want %q", showTouches(touches), want)
	}
	if v.Reason != want {
		t.Fatalf("%s is refused as %q, want %q", showTouches(touches), v.Reason, want)
	}
	return v
}

// begin expects the permit to begin at once.
func begin(t *testing.T, p *Permit) {
	t.Helper()
	wait := beginning(t, p)
	synctest.Wait()
	if v := wait.verdict(t); !v.OK() {
		t.Fatalf("cannot begin: %q", v.Reason)
	}
}

// waiting is a Begin in progress.
type waiting chan Verdict

func beginning(t *testing.T, p *Permit) waiting {
	w := make(waiting, 1)
	go func() { w <- p.Begin(t.Context()) }()
	synctest.Wait()
	return w
}

// verdict expects the wait to be over.
func (w waiting) verdict(t *testing.T) Verdict {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-w:
		return v
	default:
		t.Fatal("still waits")
		return Verdict{}
	}
}

func (w waiting) still(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-w:
		t.Fatalf("waits no longer: %q", v.Reason)
	default:
	}
}

// TestZombie is the reason for the gate: the old holder's write arrives after
// the new one has been seen.
func TestZombie(t *testing.T) {
	conversation(t, newFakeLedger(), Options{}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/r", 33, "a"))
		begin(t, a)
		a.Done(Definite)
		b := arrive(t, g, put("/r", 34, "b"))
		begin(t, b)
		b.Done(Definite)
		if v := refuse(t, g, StaleToken, put("/r", 33, "a")); v.Row.Token != 34 || v.Row.Owner != "b" {
			t.Errorf("refused because of %+v", v.Row)
		}
	})
}

// A slow write that was admitted must not land after a newer one.
func TestNewerWaitsForTheOlderInFlight(t *testing.T) {
	conversation(t, newFakeLedger(), Options{}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/r", 33, "a"))
		begin(t, a)
		b := beginning(t, arrive(t, g, put("/r", 34, "b")))
		b.still(t)
		refuse(t, g, StaleToken, put("/r", 33, "a"))
		a.Done(Definite)
		if v := b.verdict(t); !v.OK() {
			t.Fatalf("%q", v.Reason)
		}
	})
}

func TestOvertakenWhileStagingIsToldAtOnce(t *testing.T) {
	conversation(t, newFakeLedger(), Options{}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/r", 33, "a"))
		told := make(chan struct{})
		a.OnOvertaken(func() { close(told) })
		if isOvertaken(a) {
			t.Fatal("overtaken by nobody")
		}
		arrive(t, g, put("/r", 34, "b")).Withdraw()
		<-told
		if v := a.Begin(t.Context()); v.Reason != StaleToken || v.Row.Token != 34 {
			t.Fatalf("%q because of %+v", v.Reason, v.Row)
		}
	})
}

func TestMarkStaysWhenTheRequestLeaves(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		arrive(t, g, put("/r", 34, "b")).Withdraw()
		refuse(t, g, StaleToken, put("/r", 33, "a"))
		synctest.Wait()
		if got := l.row(Key{Mark, path("/r")}); got.Token != 34 || got.Owner != "b" {
			t.Errorf("durable is %+v", got)
		}
	})
}

func TestRefusedChangesNothing(t *testing.T) {
	l := newFakeLedger()
	l.put(Mark, "/b", 9, "x")
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		refuse(t, g, StaleToken, tree("/a", 5, "m"), tree("/b", 5, "m"))
		begin(t, arrive(t, g, put("/a", 1, "n"))) // /a was not raised
	})
}

func TestClaimCutsOffAndWaits(t *testing.T) {
	conversation(t, newFakeLedger(), Options{}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/r", 33, "a"))
		begin(t, a)
		claim, v := g.Arrive(t.Context(), Request{Touches: []Touch{put("/r", 34, "b")}, Ask: true})
		if claim == nil {
			t.Fatal(v.Reason)
		}
		w := beginning(t, claim)
		w.still(t) // 33 may still take effect, so the claim cannot be answered
		a.Done(Definite)
		if v := w.verdict(t); !v.OK() {
			t.Fatal(v.Reason)
		}
		refuse(t, g, StaleToken, put("/r", 33, "a"))
		begin(t, arrive(t, g, put("/r", 34, "b"))) // the claim holds nothing
	})
}

func TestUncertainBlocksUntilSettled(t *testing.T) {
	conversation(t, newFakeLedger(), Options{Settle: 10 * time.Second}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/r", 33, "a"))
		begin(t, a)
		a.Done(Uncertain)
		b := beginning(t, arrive(t, g, put("/r", 34, "b")))
		other := arrive(t, g, put("/other", 1, "c"))
		begin(t, other)
		time.Sleep(10*time.Second - time.Millisecond)
		b.still(t)
		time.Sleep(time.Millisecond)
		if v := b.verdict(t); !v.OK() {
			t.Fatal(v.Reason)
		}
	})
}

func TestGivingUpNamesWhatWasMissing(t *testing.T) {
	conversation(t, newFakeLedger(), Options{Settle: 30 * time.Second, MaxWait: 10 * time.Second}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/r", 33, "a"))
		begin(t, a)
		b := beginning(t, arrive(t, g, put("/r", 34, "b")))
		time.Sleep(10 * time.Second)
		if v := b.verdict(t); v.Reason != Busy {
			t.Errorf("behind a begun write: %q", v.Reason)
		}
		a.Done(Uncertain)
		time.Sleep(5 * time.Second)
		c := beginning(t, arrive(t, g, put("/r", 35, "c")))
		time.Sleep(10 * time.Second)
		if v := c.verdict(t); v.Reason != Settling || v.RetryAfter != 15*time.Second {
			t.Errorf("behind an entry: %q, retry after %s", v.Reason, v.RetryAfter)
		}
	})
}

func TestHoldAfterUncleanStart(t *testing.T) {
	l := newFakeLedger()
	l.meta = Meta{Settle: 20 * time.Second}
	conversation(t, l, Options{Settle: 5 * time.Second, MaxWait: time.Minute}, func(t *testing.T, g *Gate) {
		start := time.Now()
		w := beginning(t, arrive(t, g, put("/r", 1, "a")))
		if v := <-w; !v.OK() {
			t.Fatal(v.Reason)
		}
		if held := time.Since(start); held != 20*time.Second {
			t.Errorf("held for %s, want the longer, stored settle time", held)
		}
	})
}

func TestLimitOfPermits(t *testing.T) {
	conversation(t, newFakeLedger(), Options{MaxPermits: 2, Settle: time.Minute}, func(t *testing.T, g *Gate) {
		a := arrive(t, g, put("/a", 1, "a"))
		begin(t, a)
		a.Done(Uncertain)
		arrive(t, g, put("/b", 1, "a"))
		refuse(t, g, Busy, put("/c", 1, "a"))
		time.Sleep(time.Minute)
		synctest.Wait()
		arrive(t, g, put("/c", 1, "a"))
	})
}

func TestMemoryIsBounded(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{CacheSize: 10}, func(t *testing.T, g *Gate) {
		for i := range 1000 {
			p := arrive(t, g, put(fmt.Sprintf("/d%d/f", i), 5, "a"))
			begin(t, p)
			p.Done(Definite)
		}
		synctest.Wait()
		if n := g.State().Paths; n > 10 {
			t.Errorf("%d paths in memory", n)
		}
		for i := range 1000 { // forgotten in memory, not in the ledger
			refuse(t, g, StaleToken, put(fmt.Sprintf("/d%d/f", i), 4, "a"))
		}
	})
}

func TestEffective(t *testing.T) {
	l := newFakeLedger()
	l.put(Mark, "/d/f", 5, "a")
	l.put(Floor, "/d", 7, "b")
	l.meta.Global = 6
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		for _, c := range []struct {
			path   string
			token  Token
			kind   Kind
			at     string
			global bool
		}{
			{"/d/f", 7, Floor, "/d", false},
			{"/d", 7, Floor, "/d", false},
			{"/e", 6, Floor, "/", true},
		} {
			row, global, err := g.Effective(t.Context(), path(c.path))
			if err != nil || row.Token != c.token || row.Kind != c.kind || row.Path != path(c.at) || global != c.global {
				t.Errorf("%s: %+v global=%v %v", c.path, row, global, err)
			}
		}
	})
}

// Streams begin before their body has arrived, so a newer token cuts them.
func TestStreamIsCut(t *testing.T) {
	conversation(t, newFakeLedger(), Options{Settle: time.Second}, func(t *testing.T, g *Gate) {
		a, v := g.Arrive(t.Context(), Request{Touches: []Touch{put("/r", 33, "a")}, Stream: true})
		if a == nil {
			t.Fatal(v.Reason)
		}
		begin(t, a)
		b := beginning(t, arrive(t, g, put("/r", 34, "b")))
		told := make(chan struct{})
		a.OnOvertaken(func() { close(told) }) // late, and called all the same
		<-told
		b.still(t) // it may have landed all the same
		a.Done(Uncertain)
		b.still(t)
		time.Sleep(time.Second)
		if v := b.verdict(t); !v.OK() {
			t.Fatal(v.Reason)
		}
	})
}

// Many goroutines on few resources, for the race detector.
func TestConcurrentUse(t *testing.T) {
	l := newFakeLedger()
	g, err := Start(t.Context(), l, Options{CacheSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			for k := range 200 {
				touch := put(fmt.Sprintf("/d/%d", k%7), Token(k+1), Owner(fmt.Sprint("o", i)))
				touch.Tree = k%11 == 0
				p, _ := g.Arrive(t.Context(), Request{Touches: []Touch{touch}, Ask: k%5 == 0})
				if p == nil {
					continue
				}
				if v := p.Begin(t.Context()); v.OK() {
					p.Done(Outcome(k % 3))
				}
				p.Withdraw()
				_, _, _ = g.Effective(t.Context(), touch.Fence)
			}
		})
	}
	done.Wait()
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := g.State(); s.Begun != 0 || s.Waiting != 0 {
		t.Errorf("left over: %+v", s)
	}
}

// isOvertaken reports whether the permit's upload has been told to stop.
func isOvertaken(p *Permit) bool {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.overtaken
}
