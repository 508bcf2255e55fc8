package integration

import (
	"testing"

	"fencegate/integration/harness"
)

// Marks outlive the process and the object. Shown: S5 durable.
func TestMarksSurvive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		again func(*harness.Server)
	}{
		{"an orderly restart", func(s *harness.Server) {
			if code := s.Stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			s.Restart()
		}},
		{"kill -9", func(s *harness.Server) { s.Kill(); s.Restart() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := harness.Fencegate(t)
			old, holder, deleter := stampOf(6, "old"), stampOf(7, "holder"), stampOf(8, "deleter")
			says(t, s, "201", "PUT", report, holder, "seven")
			says(t, s, "201", "PUT", "/gone", holder, "seven")
			says(t, s, "204", "DELETE", "/gone", deleter, "")
			written, deleted := isMarked(t, s, report, holder, "mark"), isMarked(t, s, "/gone", deleter, "floor")

			c.again(s)
			if m := isMarked(t, s, report, holder, "mark"); m != written {
				t.Errorf("the mark became %+v, was %+v", m, written)
			}
			if m := isMarked(t, s, "/gone", deleter, "floor"); m != deleted {
				t.Errorf("the floor became %+v, was %+v", m, deleted)
			}
			says(t, s, "412 stale_token", "PUT", report, old, "six")
			says(t, s, "409 owner_conflict", "PUT", report, stampOf(7, "another"), "seven of another")
			says(t, s, "412 stale_token", "PUT", "/gone", holder, "seven, late")
			says(t, s, "412 stale_token", "GET", "/gone", old, "") // a read with a token is judged too
			says(t, s, "404", "GET", "/gone", stampOf(0, ""), "")
			holds(t, s, report, "seven")
			says(t, s, "204", "PUT", report, holder, "seven again")
			says(t, s, "201", "PUT", "/gone", deleter, "eight")
		})
	}
}

// A tree's DELETE and the marks below and above it. Shown: S1 for tree writes,
// and that a refused one changes nothing.
func TestDeleteOfATree(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	low, high, higher := stampOf(11, "low"), stampOf(12, "high"), stampOf(13, "higher")
	says(t, s, "201", "PUT", "/t/x/y", high, "twelve")
	says(t, s, "201", "PUT", "/t/z", low, "eleven")

	refused := says(t, s, "409 tree_fenced", "DELETE", "/t", low, "")
	if got := refused.header.Get("X-Fencing-Highest"); got != "12" {
		t.Errorf("the answer names %q as the highest token, want 12", got)
	}
	holds(t, s, "/t/x/y", "twelve")
	holds(t, s, "/t/z", "eleven")
	if m := markOf(t, s, "/t"); m.Token != "0" {
		t.Errorf("a refused DELETE left %+v", m)
	}

	says(t, s, "204", "DELETE", "/t", higher, "")
	s.Kill()
	s.Restart()
	says(t, s, "404", "GET", "/t/z", stampOf(0, ""), "")
	for _, path := range []string{"/t", "/t/x/y", "/t/z", "/t/never/seen"} {
		isMarked(t, s, path, higher, "floor")
		says(t, s, "412 stale_token", "PUT", path, high, "late")
	}
	says(t, s, "201", "PUT", "/t/never/seen", higher, "thirteen")
	says(t, s, "201", "PUT", "/tt", low, "a neighbour whose name only begins alike")
}
