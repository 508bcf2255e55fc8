package integration

import (
	"testing"

	"fencegate/integration/harness"
)

// A holder's first write waits for the ledger's disk when more of the same holder
// come. Shown: S5 durable, they too begin only when the first one's row is on
// disk; and they need no commit of their own.
func TestEqualTokensShareTheirRaise(t *testing.T) {
	t.Parallel()
	store, s := overFakeStore(t, configured(t, "{name: tenant, path: /t, fence: tree}")...)
	slowDisk(t, s)
	before := commits(s)
	holder := stampOf(34, "holder")
	began := harness.Monotonic()
	requests := []*pending{
		begins(t, s, "PUT", "/t/first", holder, "first"),
		begins(t, s, "PUT", "/t/second", holder, "second"),
		claims(t, s, "/t", holder),
	}
	harness.Eventually(t, "all to wait for the commit", func() (any, bool) {
		m := s.Metrics()
		if requests := store.Requests(); len(requests) > 0 {
			t.Fatalf("sent before the commit ended: %v", requests)
		}
		if n := m.Counter("fencegate_ledger_commits_total"); n > before {
			t.Fatal("the commit ended before all had come: this disk is not slow enough")
		}
		waiting := m.Gauge("fencegate_waiting_requests")
		return waiting, waiting == 3
	})
	requests[0].says("201")
	requests[1].says("201")
	requests[2].says("200")
	if n := commits(s) - before; n != 1 {
		t.Errorf("they cost %v commits, want 1", n)
	}
	for _, r := range store.Requests() {
		if r.At-began < slowSync {
			t.Errorf("%s %s was sent after %v, before the row can have been on disk", r.Method, r.Path, r.At-began)
		}
	}
}
