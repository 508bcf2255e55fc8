package fence

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What the rows at and above a tree refuse needs no look at what is below.
func TestStaleTreeIsNotScanned(t *testing.T) {
	l := newFakeLedger()
	l.put(Mark, "/d", 9, "x")
	l.put(Floor, "/e", 9, "x")
	l.put(Mark, "/d/f", 20, "y")
	l.onBelow = func() { t.Error("everything below was read") }
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		refuse(t, g, StaleToken, tree("/d", 4, "a"))
		refuse(t, g, StaleToken, tree("/e/f", 4, "a"))
		refuse(t, g, StaleToken, tree("/new", 4, "a"), tree("/d", 4, "a"))
		refuse(t, g, TokenMissing, tree("/new", NoToken, NoOwner))
	})
	l = newFakeLedger()
	l.meta.Global = 5
	l.onBelow = func() { t.Error("everything below was read") }
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) { refuse(t, g, StaleToken, tree("/new", 4, "a")) })
}

// Trees within trees are read once, and each touch still sees what is below it.
func TestNestedTreesAreScannedOnce(t *testing.T) {
	l := newFakeLedger()
	l.put(Mark, "/d/e/f", 9, "x")
	scans := 0
	l.onBelow = func() { scans++ }
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		refuse(t, g, TreeFenced, tree("/d/e", 4, "a"), tree("/d/e", 4, "a"), tree("/d/e/f/g", 4, "a"))
		refuse(t, g, StaleToken, tree("/d/e/f", 4, "a"), tree("/d", 4, "a"))
		arrive(t, g, tree("/d/g", 4, "a"), tree("/d/h", 4, "a"), tree("/d/g/i", 4, "a"))
	})
	if scans != 3 { // one for the first, none for the second, two for the third
		t.Errorf("the ledger was read %d times, want 3", scans)
	}
}

func TestScansAreBounded(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{MaxWait: 10 * time.Second, MaxPermits: 4}, func(t *testing.T, g *Gate) {
		release := make(chan struct{}) // made here, for the test's clock
		var running, most atomic.Int64
		l.onBelow = func() {
			most.Store(max(most.Load(), running.Add(1)))
			<-release
			running.Add(-1)
		}
		verdicts := make(chan Verdict, 4)
		for i := range 4 {
			go func() {
				_, v := g.Arrive(t.Context(), Request{Touches: []Touch{tree([]string{"/a", "/b", "/c", "/d"}[i], 1, "a")}, Ask: true})
				verdicts <- v
			}()
		}
		synctest.Wait()
		if n := running.Load(); n != 2 {
			t.Errorf("%d scans run, want 2", n)
		}
		refuse(t, g, Busy, put("/e", 1, "a")) // those that read are in flight
		time.Sleep(10 * time.Second)
		reasons := map[Reason]int{}
		for range 4 {
			v := <-verdicts
			reasons[v.Reason]++
		}
		if reasons[Busy] != 2 || reasons[LedgerUnavailable] != 2 {
			t.Errorf("refused as %v, want two Busy and two whose scan took too long", reasons)
		}
		refused := make(chan Verdict, 1)
		go func() {
			_, v := g.Arrive(t.Context(), Request{Touches: []Touch{tree("/a", 1, "a")}})
			refused <- v
		}()
		synctest.Wait()
		if n := running.Load(); n != 2 { // nobody waits for them, but they run
			t.Errorf("%d scans run, want 2", n)
		}
		close(release)
		if v := <-refused; !v.OK() {
			t.Errorf("%q although the others have ended", v.Reason)
		}
		if n := most.Load(); n != 2 {
			t.Errorf("at most %d scans ran, want 2", n)
		}
	})
}
