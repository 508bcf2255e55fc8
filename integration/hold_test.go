package integration

import (
	"strconv"
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// After an unclean end a write of the run before may still take effect at the
// storage, for as long as settle says. Shown: A2's part in S1 and S2, nothing
// protected begins before; and that it then does, by itself.
func TestHoldAfterAKill(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--settle", "4s", "--max-wait", "50ms")
	holder := stampOf(7, "holder")
	says(t, s, "201", "PUT", report, holder, "seven")
	s.Kill()
	s.Start()
	isHolding(t, s, holder)
	holds(t, s, report, "seven") // reads without a token are not held
	s.AwaitReady()
	says(t, s, "204", "PUT", report, holder, "seven again")
}

// TERM during the hold ends it for this run only: what it waits for has not
// passed.
func TestHoldOutlastsAStop(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--settle", "4s", "--max-wait", "50ms")
	holder := stampOf(7, "holder")
	s.Kill()
	s.Start()
	isHolding(t, s, holder)
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.Start()
	isHolding(t, s, holder)
	s.AwaitReady()
	says(t, s, "201", "PUT", report, holder, "seven")
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.Start()
	if said := readiness(s); !strings.HasPrefix(said, "200 ") {
		t.Errorf("after the hold and a clean end /readyz says %s", said)
	}
}

// A request that may wait long enough notices nothing of the hold.
func TestHoldIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--settle", "1s")
	s.Kill()
	s.Start()
	says(t, s, "201", "PUT", report, stampOf(7, "holder"), "seven")
	if said := readiness(s); !strings.HasPrefix(said, "200 ") {
		t.Errorf("a write has passed, but /readyz says %s", said)
	}
}

// isHolding checks that writes, claims and reads with a token are told to come
// back, and when.
func isHolding(t testing.TB, s *harness.Server, holder fence.Stamp) {
	t.Helper()
	if said := readiness(s); !strings.HasPrefix(said, "503 recovering") {
		t.Fatalf("/readyz says %s", said)
	}
	claim := `{"resource":"` + report + `","token":"` + holder.Token.String() + `","owner":"` + string(holder.Owner) + `"}`
	for _, r := range []struct{ method, path, body string }{
		{"PUT", report, "too early"}, {"DELETE", report, ""}, {"GET", report, ""}, {"POST", "/.well-known/fencegate/claims", claim},
	} {
		stamp := holder
		if r.method == "POST" {
			stamp = fence.Stamp{}
		}
		a := says(t, s, "503 recovering", r.method, r.path, stamp, r.body)
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 || n > 4 {
			t.Errorf("%s %s: Retry-After is %q, want 1 to 4", r.method, r.path, a.header.Get("Retry-After"))
		}
	}
}
