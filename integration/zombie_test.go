package integration

import (
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

const report = "/reports/q3.csv"

// A lock holder is paused past its lease, another takes over and writes, the
// first wakes up and writes too. Shown: S1 order, S4 honest answers; and that
// the refusal is counted and logged once, without any secret.
func TestZombieWriterIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a, b := s.holder("host-a/1", time.Second, "time"), s.holder("host-b/2", time.Second, "time")

	a.lock(report)
	a.does("put from A", "201")
	a.Pause()
	s.awaitFree(report)
	b.lock(report)
	if b.token <= a.token {
		t.Fatalf("B's token %s is not above A's %s", b.token, a.token)
	}
	b.does("put from B", "204")
	a.Resume()
	a.does("put from A, late", "412 stale_token "+b.token.String())
	holds(t, s.fence, report, "from B")

	if n := s.fence.Metrics().Counter("fencegate_rejections_total", "reason=stale_token"); n != 1 {
		t.Errorf("%v refusals are counted, want 1", n)
	}
	s.fence.Stop() // tells repeats, if there are any
	s.refusedOnce(a, b)
	s.noOwnerIsLogged(a, b)
}

// The same, but the late writer uses lockclient's transport: it finds out by
// itself, and the fence never hears of it.
func TestZombieWriterStopsItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a, b := s.holder("host-a/1", time.Second, "time"), s.holder("host-b/2", time.Second, "time")

	a.lock(report)
	a.does("send from A", "201")
	a.Pause()
	s.awaitFree(report)
	b.lock(report)
	b.does("send from B", "204")
	a.Resume()
	a.does("send from A, late", "refused LostError …")
	// A request is counted after its answer: B's may be on its way.
	harness.Eventually(t, "both writes to be counted", func() (any, bool) {
		n := s.fence.Metrics().Counter("fencegate_requests_total", "operation=write")
		return n, n >= 2
	})
	if n := s.fence.Metrics().Counter("fencegate_requests_total", "operation=write"); n != 2 {
		t.Errorf("the fence got %v writes, one of a lock that was lost", n)
	}
	holds(t, s.fence, report, "from B")
	s.noOwnerIsLogged(a, b)
}

// refusedOnce checks the one record of a's refusal because of b.
func (s *scene) refusedOnce(a, b *holder) {
	s.t.Helper()
	var refused []harness.Record
	for _, r := range s.fence.Logs() {
		if strings.HasPrefix(r.Text("msg"), "refused") {
			refused = append(refused, r)
		}
	}
	if len(refused) != 1 {
		s.t.Fatalf("%d records of refusals, want 1: %v", len(refused), refused)
	}
	r := refused[0]
	for key, want := range map[string]string{
		"msg": "refused", "reason": "stale_token", "resource": report, "token": a.token.String(), "client": a.name,
		"highest": b.token.String(), "holder": b.name, "holder_owner_sha256": b.owner.Digest(),
	} {
		if r.Text(key) != want {
			s.t.Errorf("the record says %s=%q, want %q", key, r.Text(key), want)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, r.Text("since")); err != nil {
		s.t.Errorf("since when B holds the mark: %v", err)
	}
	if r.Text("request_id") == "" {
		s.t.Error("the record has no request_id")
	}
}

func (s *scene) noOwnerIsLogged(holders ...*holder) {
	s.t.Helper()
	printed := strings.Join(s.fence.Process().Stderr(), "\n") + strings.Join(s.fence.Process().Stdout(), "\n")
	if !strings.Contains(printed, "serving") {
		s.t.Error("the log is empty: nothing would be found in it")
	}
	for _, h := range holders {
		if h.owner == "" || strings.Contains(printed, string(h.owner)) {
			s.t.Errorf("the log shows the owner of %s", h.name)
		}
	}
}
