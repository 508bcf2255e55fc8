package torture

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"fencegate/integration/harness"
	"fencegate/integration/history"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed; 0 takes one from the clock")
	total     = flag.Duration("time", time.Minute, "how long to go on, without starts and checks; a quarter of it, but one round at most, without the fence")
	keepAll   = flag.Bool("keep", false, "keep the history of each seed, not only of those that broke a promise")
	fences    = flag.String("fence", "both", "on, off or both")
)

// Of a soak: what has to be reached, and how long it may go on for that.
var (
	soaked    = counts{"seeds": 20, "fenced writes": 200_000, "kills": 200, "client pauses": 2000}
	soakLimit = 2 * time.Hour
)

// round is how long one seed lasts.
const round = 15 * time.Second

// S1–S6 hold whatever happens, and without the fence they do not.
func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	seed := *firstSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixMilli() % 1_000_000)
	}
	soak := harness.Scale(10) == 10
	t.Logf("seed %d; again: make torture SEED=%d TIME=%v", seed, seed, *total)
	if *fences != "off" {
		t.Run("fenced", func(t *testing.T) { withFence(t, seed, soak) })
	}
	if *fences != "on" {
		t.Run("unfenced", func(t *testing.T) { withoutFence(t, seed) })
	}
}

func withFence(t *testing.T, seed uint64, soak bool) {
	sum, wants := counts{}, floors(*total)
	began := time.Now()
	more := func() bool { return time.Duration(sum["seeds"])*round < *total*3/4 }
	if soak {
		wants = soaked
		more = func() bool { return !sum.reach(wants) && time.Since(began) < soakLimit }
	}
	for more() && !t.Failed() {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c, verdict := torture(t, seed, false, min(round, *total*3/4))
			sum.addAll(c)
			for _, what := range verdict.Undecided {
				t.Errorf("not decided: %s", what)
			}
			if len(verdict.Violations) > 0 {
				t.Errorf("seed %d: %d violations", seed, len(verdict.Violations))
			}
		})
		seed++
	}
	t.Logf("with the fence, %v:\n%v", time.Since(began).Round(time.Second), sum)
	if !t.Failed() && !sum.reach(wants) {
		t.Errorf("it was not tortured enough to tell; wanted is\n%v", wants)
	}
}

// withoutFence is the same with all let pass. If nothing is found, nothing was
// looked for.
func withoutFence(t *testing.T, seed uint64) {
	c, verdict := torture(t, seed, true, max(min(round, *total/4), 5*time.Second))
	t.Logf("without the fence:\n%v", c)
	for _, promise := range []history.Promise{history.Order, history.Cut} {
		if !slices.ContainsFunc(verdict.Violations, func(v history.Violation) bool {
			return v.Promise == promise && v.Operations[len(v.Operations)-1].Token != 0 // a real holder's
		}) {
			t.Errorf("without the fence nothing broke %s: the run with it proves nothing", promise)
		}
	}
}

// torture is one seed.
func torture(t *testing.T, seed uint64, open bool, d time.Duration) (counts, history.Verdict) {
	t.Helper()
	w := newWorld(t, seed, open)
	h := w.run(d)
	began := time.Now()
	verdict := history.Check(h, harness.Patience)
	w.counts.add("seeds")
	w.counts.of(h, verdict)
	t.Logf("seed %d, checked in %v:\n%v", seed, time.Since(began).Round(time.Millisecond), w.counts)
	if len(verdict.Violations) > 0 || *keepAll {
		keep(t, w, h, verdict)
	}
	return w.counts, verdict
}

// shownViolations of each promise are printed; all are kept.
const shownViolations = 2

// keep writes down the history of a violation, and prints some of it.
func keep(t *testing.T, w *world, h history.History, verdict history.Verdict) {
	t.Helper()
	if n := len(verdict.Violations); n > 0 {
		t.Logf("seed %d: %d violations, the first after %v of the run", w.seed, n, w.firstOf(verdict).Round(time.Millisecond))
	}
	printed := map[history.Promise]int{}
	for _, v := range verdict.Violations {
		if printed[v.Promise]++; printed[v.Promise] <= shownViolations {
			t.Logf("seed %d: %v", w.seed, v)
		}
	}
	if w.open && !*keepAll {
		return // as was meant
	}
	dir, err := os.MkdirTemp("", fmt.Sprintf("fencegate-torture-%d-", w.seed))
	if err != nil {
		t.Fatal(err)
	}
	if err := history.Save(dir, h, verdict); err != nil {
		t.Fatal(err)
	}
	t.Logf("the history is in %s", dir)
}

// firstOf tells when the first effect happened that a violation is about.
func (w *world) firstOf(verdict history.Verdict) time.Duration {
	first := harness.Monotonic()
	for _, v := range verdict.Violations {
		if n := len(v.Effects); n > 0 {
			first = min(first, time.Duration(v.Effects[n-1].At))
		}
	}
	return first - w.began
}
