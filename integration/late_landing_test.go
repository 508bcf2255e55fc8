package integration

import (
	"slices"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// The store takes A's write whole, breaks off without an answer, and carries it
// out later, within settle. Shown: S1 order with A2, B's write is not even sent
// before settle is over and is there in the end; S4, A is told that nobody
// knows; and that other objects wait for none of this.
func TestLateLandingIsWaitedFor(t *testing.T) {
	t.Parallel()
	const settle = 2 * time.Second
	for _, c := range []struct {
		name string
		drop harness.Drop
	}{{"closed", harness.FIN}, {"reset", harness.Reset}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t, "--settle", settle.String())
			store.Queue("PUT", report, harness.Plan{Drop: c.drop, Delay: settle / 4})
			refused := says(t, s, "504 outcome_unknown", "PUT", report, stampOf(33, "a"), "from A")
			if got := refused.header.Get("Retry-After"); got != "2" {
				t.Errorf("Retry-After is %q, want settle in seconds", got)
			}
			b := begins(t, s, "PUT", report, stampOf(34, "b"), "from B")
			says(t, s, "201", "PUT", "/other", stampOf(1, "c"), "from C")
			b.says("204")
			effects := store.Effects()
			effects = slices.DeleteFunc(effects, func(e harness.Effect) bool { return e.Path == "/other" })
			if len(effects) != 2 || effects[0].ID != "from A" || effects[1].ID != "from B" {
				t.Errorf("in this order happened %v", effects)
			}
			requests := requestsFor(store, report)
			if waited := requests[1].At - requests[0].Whole; waited < settle {
				t.Errorf("B's write was sent %v after A's had gone, before settle was over", waited)
			}
			if other := requestsFor(store, "/other"); other[0].At > requests[1].At {
				t.Error("C's write to another object waited too")
			}
			sawLate(t, s, store)
		})
	}
}

// sawLate checks what is told of one write that got no answer.
func sawLate(t testing.TB, s *harness.Server, store *harness.FakeStore) {
	t.Helper()
	m := s.Metrics()
	if n := m.Counter("fencegate_uncertain_total"); n != 1 {
		t.Errorf("%v uncertain writes are counted, want 1", n)
	}
	if n := m.Gauge("fencegate_settling_entries"); n != 0 {
		t.Errorf("%v entries are left", n)
	}
	if got := store.Objects()[report]; got != "from B" {
		t.Errorf("the store holds %q", got)
	}
}

// B does not write but claims, or reads with its token. Shown: S2 claim, what B
// is told has nothing of A's to come any more.
func TestLateLandingIsWaitedForByClaims(t *testing.T) {
	t.Parallel()
	const settle = 2 * time.Second
	for _, c := range []struct {
		name string
		ask  func(*harness.Server) *pending
	}{
		{"claim", func(s *harness.Server) *pending { return claims(t, s, report, stampOf(34, "b")) }},
		{"read", func(s *harness.Server) *pending { return begins(t, s, "GET", report, stampOf(34, "b"), "") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t, "--settle", settle.String())
			store.Queue("PUT", report, harness.Plan{Lose: true, Drop: harness.Reset, Delay: settle / 4})
			says(t, s, "504 outcome_unknown", "PUT", report, stampOf(33, "a"), "from A")
			a := c.ask(s).says("200")
			told := harness.Monotonic()
			tookEffect(t, store, "PUT "+report+" from A")
			if gone := store.Requests()[0].Whole; told-gone < settle {
				t.Errorf("B was answered %v after A's write had gone, before settle was over", told-gone)
			}
			if c.name == "read" && a.body != "from A" {
				t.Errorf("B read %q", a.body)
			}
			says(t, s, "412 stale_token", "PUT", report, stampOf(33, "a"), "from A, again")
		})
	}
}
