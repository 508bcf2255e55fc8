package fence

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCommitsAreShared(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		first := make(chan struct{})
		var batches []int
		l.onCommit = func(rows []Row) error {
			if len(batches) == 0 {
				<-first
			}
			batches = append(batches, len(rows))
			return nil
		}
		var all []waiting
		for i := range 50 {
			all = append(all, beginning(t, arrive(t, g, put(fmt.Sprint("/r", i), 1, "a"))))
		}
		for _, w := range all {
			w.still(t) // not durable, so nothing begins
		}
		close(first)
		for _, w := range all {
			if v := w.verdict(t); !v.OK() {
				t.Fatal(v.Reason)
			}
		}
		if len(batches) != 2 || batches[0] != 1 || batches[1] != 49 {
			t.Errorf("50 raises took commits of %v rows, want 1 and then 49", batches)
		}
	})
}

func TestEqualTokenCostsNoCommit(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		for range 10 {
			p := arrive(t, g, put("/r", 1, "a"))
			begin(t, p)
			p.Done(Definite)
		}
		if l.commits != 1 {
			t.Errorf("%d commits", l.commits)
		}
	})
}

// An equal token must not begin on the strength of a raise that is still on its
// way to the disk.
func TestEqualTokenWaitsForThePendingRaise(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		disk := make(chan struct{})
		l.onCommit = func([]Row) error { <-disk; return nil }
		arrive(t, g, put("/r", 1, "a")).Withdraw()
		b := beginning(t, arrive(t, g, put("/r", 1, "a")))
		b.still(t)
		close(disk)
		if v := b.verdict(t); !v.OK() {
			t.Fatal(v.Reason)
		}
	})
}

func TestFullLedgerIsTriedAgain(t *testing.T) {
	l := newFakeLedger()
	var full atomic.Bool
	full.Store(true)
	l.onCommit = func([]Row) error {
		if full.Load() {
			return fmt.Errorf("writing: %w", ErrLedgerFull)
		}
		return nil
	}
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		w := beginning(t, arrive(t, g, put("/r", 1, "a")))
		time.Sleep(5 * time.Second)
		w.still(t)
		if !g.State().Full {
			t.Error("that it is full does not show")
		}
		full.Store(false)
		if v := <-w; !v.OK() {
			t.Fatal(v.Reason)
		}
		if g.State().Full {
			t.Error("it stays full")
		}
	})
}

func TestFailedLedgerStopsEverythingProtected(t *testing.T) {
	l := newFakeLedger()
	broken := errors.New("I/O error")
	var failing bool
	l.onCommit = func([]Row) error {
		if failing {
			return broken
		}
		return nil
	}
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		known := arrive(t, g, put("/known", 1, "a"))
		begin(t, known)
		failing = true
		w := beginning(t, arrive(t, g, put("/r", 1, "a")))
		if v := w.verdict(t); v.Reason != LedgerUnavailable || !errors.Is(v.Err, broken) {
			t.Fatalf("%q, %v", v.Reason, v.Err)
		}
		failing = false
		refuse(t, g, LedgerUnavailable, put("/known", 1, "a")) // even what is durable
		open := with(put("/r", 1, "a"), func(t *Touch) { t.Policy = Open })
		arrive(t, g, open).Done(Definite) // not protected
		known.Done(Definite)
		if g.State().Failed == nil {
			t.Error("the failure does not show")
		}
	})
	if *l.closed {
		t.Error("stopped clean after a failed commit")
	}
}

func TestUnreadableLedgerRefuses(t *testing.T) {
	l := newFakeLedger()
	l.readErr = errors.New("page is damaged")
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		if v := refuse(t, g, LedgerUnavailable, put("/r", 1, "a")); !errors.Is(v.Err, l.readErr) {
			t.Error(v.Err)
		}
		l.readErr = nil
		begin(t, arrive(t, g, put("/r", 1, "a"))) // one bad look-up is not for good
	})
}

// A disk that stalls holds up a look-up, but not the request beyond its time.
func TestStalledLookUpEnds(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{MaxWait: 3 * time.Second}, func(t *testing.T, g *Gate) {
		disk := make(chan struct{})
		l.onRead = func() { <-disk }
		start := time.Now()
		v := refuse(t, g, LedgerUnavailable, put("/r", 1, "a"))
		if waited := time.Since(start); waited != 3*time.Second || v.Err == nil {
			t.Errorf("refused after %s, %v", waited, v.Err)
		}
		if _, _, err := g.Effective(t.Context(), path("/r")); err == nil {
			t.Error("told a mark that could not be read")
		}
		close(disk)
		synctest.Wait()
		begin(t, arrive(t, g, put("/r", 1, "a")))
	})
}
