package remote

import (
	"fmt"
	"testing"

	"fencegate/fence"
)

// decidedStatuses is DESIGN's list written out once more, digit by digit, so
// that it does not share a mistake with the code.
var decidedStatuses = func() map[int]bool {
	m := map[int]bool{501: true, 505: true, 507: true}
	for status := 200; status < 500; status++ {
		m[status] = true
	}
	delete(m, 202)
	delete(m, 408)
	delete(m, 499)
	return m
}()

func TestOutcomeOfEveryStatus(t *testing.T) {
	for status := 0; status < 1000; status++ {
		want := fence.Uncertain
		if decidedStatuses[status] {
			want = fence.Definite
		}
		e := evidence{method: "PUT", wrote: true, whole: true, status: status, end: marked}
		if got := e.outcome(nil); got != want {
			t.Errorf("PUT answered %d: %v, want %v", status, got, want)
		}
		e.whole = false
		if got := e.outcome([]int{status}); got != fence.Uncertain {
			t.Errorf("PUT answered %d before it was sent whole: %v", status, got)
		}
		e.wrote = false
		if got := e.outcome(nil); got != fence.NotSent {
			t.Errorf("PUT not sent, answered %d: %v", status, got)
		}
	}
}

func TestOutcomeOfBodies(t *testing.T) {
	for _, c := range []struct {
		method string
		copies bool
		status int
		counts bool
	}{
		{"PUT", false, 200, false}, {"PUT", false, 412, false}, {"PUT", false, 207, true}, {"PUT", true, 200, true},
		{"PROPPATCH", false, 200, false}, {"PROPPATCH", false, 207, true}, {"MKCOL", false, 201, false}, {"LOCK", false, 200, false},
		{"POST", false, 200, true}, {"COPY", false, 201, true}, {"MOVE", false, 201, true}, {"DELETE", false, 200, true},
		{"DELETE", false, 404, true}, {"MOVE", false, 412, true},
	} {
		for end, want := range map[ending]fence.Outcome{broken: fence.Uncertain, closed: fence.Uncertain, marked: fence.Definite} {
			if !c.counts {
				want = fence.Definite
			}
			e := evidence{method: c.method, copies: c.copies, wrote: true, whole: true, status: c.status, end: end}
			if got := e.outcome(nil); got != want {
				t.Errorf("%+v: %v, want %v", e, got, want)
			}
		}
	}
}

func TestDefiniteStatuses(t *testing.T) {
	for status, want := range map[int]fence.Outcome{202: fence.Definite, 500: fence.Definite, 502: fence.Uncertain, 404: fence.Definite} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			e := evidence{method: "DELETE", wrote: true, whole: true, status: status, end: marked}
			if got := e.outcome([]int{500, 202}); got != want {
				t.Errorf("%v, want %v", got, want)
			}
			e.end = broken
			if got := e.outcome([]int{500, 202}); got != fence.Uncertain {
				t.Errorf("with a broken body: %v", got)
			}
		})
	}
}
