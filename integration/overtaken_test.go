package integration

import (
	"io"
	"testing"

	"fencegate/integration/harness"
)

// A is stuck in the middle of an upload when B writes. Shown: liveness, B does
// not wait for A's body; and S1, what A still sends has no effect.
func TestUploadIsOvertaken(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	a, b := stampOf(7, "a"), stampOf(8, "b")
	u := startUpload(s, report, a)
	u.arrive(t, s, "from A, half")
	says(t, s, "201", "PUT", report, b, "from B")
	// The answer need not wait for the rest, which may find nobody to read it.
	_, _ = io.WriteString(u.body, " and whole")
	u.body.Close()
	if said := <-u.answer; said != "412 stale_token" {
		t.Errorf("the overtaken upload is answered %s", said)
	}
	holds(t, s, report, "from B")
	isSwept(t, s)
	if n := s.Metrics().Counter("fencegate_rejections_total", "reason=stale_token"); n != 1 {
		t.Errorf("%v refusals are counted, want 1", n)
	}
}
