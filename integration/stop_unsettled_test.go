package integration

import (
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// TERM while something may still happen at the store. Shown: it ends with 0 and
// within the drain time, but what it leaves behind is no clean end: the next
// start holds as if it had been killed. Only an end with nothing open is clean.
func TestStopWithSomethingUnsettled(t *testing.T) {
	t.Parallel()
	const settle = 2 * time.Second
	for _, c := range []struct {
		name  string
		plan  harness.Plan
		says  string // "" before the stop
		clean bool
	}{
		{name: "nothing", says: "201", clean: true},
		{name: "an entry", plan: harness.Plan{Drop: harness.Reset, Delay: settle / 4}, says: "504 outcome_unknown"},
		{name: "a begun write beyond the drain limit", plan: harness.Plan{UntilGone: true, Delay: settle / 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t, "--settle", settle.String(), "--drain", "300ms")
			store.Queue("PUT", report, c.plan)
			a := begins(t, s, "PUT", report, stampOf(33, "a"), "from A")
			sees(store, "PUT", report)
			if c.says != "" {
				a.says(c.says)
			}
			if code := s.Stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			stopped := harness.Monotonic()
			<-a.done
			if a.err == nil && a.a.String() != c.says && a.a.String() != "504 outcome_unknown" {
				t.Errorf("A is answered %v", a.a)
			}
			s.Start()
			if said := readiness(s); strings.HasPrefix(said, "503 recovering") == c.clean {
				t.Errorf("after the stop /readyz says %s", said)
			}
			claims(t, s, report, stampOf(34, "b")).says("200")
			if held := harness.Monotonic() - stopped; !c.clean && held < settle {
				t.Errorf("B's claim is answered %v after the stop, before the hold was over", held)
			}
			tookEffect(t, store, "PUT "+report+" from A")
			sawOnce(t, store, "PUT", report)
		})
	}
}
