package integration

import (
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// The network between fencegate and the store is cut, in several ways, and heals.
// Shown: S4, "surely not applied" is told only where nothing was sent; S1, what
// was sent may still land, and is waited for; and that it goes on by itself.
func TestPartitionFromTheStore(t *testing.T) {
	t.Parallel()
	const settle = time.Second // more than one try may take
	for _, c := range []struct {
		name      string
		cut       func(*harness.Line)
		heal      func(*harness.Line)
		write     string
		read      string
		uncertain bool
	}{
		{"refused", (*harness.Line).Refuse, (*harness.Line).Accept, "502 upstream_unreachable", "502 upstream_unreachable", false},
		{"a black hole", (*harness.Line).BlackHole, (*harness.Line).Mend, "504 outcome_unknown", "504 upstream_timeout", true},
		{"requests are lost", func(l *harness.Line) { l.CutAfter(harness.Up, 10) }, func(l *harness.Line) { l.CutAfter(harness.Up, -1) },
			"504 outcome_unknown", "504 upstream_timeout", true},
		{"answers are lost", func(l *harness.Line) { l.CutAfter(harness.Down, 3) }, func(l *harness.Line) { l.CutAfter(harness.Down, -1) },
			"504 outcome_unknown", "504 upstream_timeout", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := harness.NewFakeStore(t)
			line := harness.NewLine(t, store.Addr())
			s := harness.Fencegate(t, "--upstream", line.URL(), "--settle", settle.String(), "--upstream-timeout", "300ms")
			says(t, s, "201", "PUT", report, stampOf(33, "a"), "before")
			c.cut(line)
			says(t, s, c.read, "GET", report, fence.Stamp{}, "")
			began := harness.Monotonic()
			says(t, s, c.write, "PUT", report, stampOf(33, "a"), "meanwhile")
			c.heal(line)
			says(t, s, "204", "PUT", report, stampOf(34, "b"), "after")
			requests := store.Requests()
			switch waited := requests[len(requests)-1].At - began; {
			case c.uncertain && waited < settle:
				t.Errorf("B's write was sent %v after A's, before settle was over", waited)
			case !c.uncertain && s.Metrics().Counter("fencegate_uncertain_total") != 0:
				t.Error("a write of which nothing was sent counts as uncertain")
			}
			if got := store.Objects()[report]; got != "after" {
				t.Errorf("the store holds %q", got)
			}
			says(t, s, "412 stale_token", "PUT", report, stampOf(33, "a"), "late")
		})
	}
}
