package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// What the store answers to A's write, what A is told of it, and whether it may
// still take effect for all that fencegate knows. Shown: S4 honest answers, and
// that B waits for settle exactly where A's outcome is uncertain.
func TestAnswersOfTheStoreToAWrite(t *testing.T) {
	t.Parallel()
	const settle = 2 * time.Second
	large := strings.Repeat("a large object ", 1<<20) // does not fit into the buffers on the way
	store, s := overFakeStore(t, "--settle", settle.String(), "--upstream-timeout", "30s")
	for _, c := range []struct {
		name      string
		plan      harness.Plan
		body      string
		says      string
		uncertain bool
	}{
		{name: "201", plan: harness.Plan{}, says: "201"},
		{name: "304", plan: harness.Plan{Status: 304, NoEffect: true}, says: "304"},
		{name: "404", plan: harness.Plan{Status: 404, NoEffect: true}, says: "404"},
		{name: "412", plan: harness.Plan{Status: 412, NoEffect: true}, says: "412"},
		{name: "501", plan: harness.Plan{Status: 501, NoEffect: true}, says: "501"},
		{name: "505", plan: harness.Plan{Status: 505, NoEffect: true}, says: "505"},
		{name: "507", plan: harness.Plan{Status: 507, NoEffect: true}, says: "507"},
		{name: "1xx first", plan: harness.Plan{First: []string{"100 Continue", "103 Early Hints"}}, says: "201"},
		{name: "byte by byte", plan: harness.Plan{Pace: time.Millisecond}, says: "201"},
		{name: "closed after it", plan: harness.Plan{Close: true}, says: "201"},

		{name: "202", plan: harness.Plan{Status: 202}, says: "202", uncertain: true},
		{name: "408", plan: harness.Plan{Status: 408, NoEffect: true}, says: "408", uncertain: true},
		{name: "500", plan: harness.Plan{Status: 500}, says: "500", uncertain: true},
		{name: "503", plan: harness.Plan{Status: 503, NoEffect: true}, says: "503", uncertain: true},
		{name: "502", plan: harness.Plan{Status: 502}, says: "504 outcome_unknown", uncertain: true},
		{name: "504", plan: harness.Plan{Status: 504}, says: "504 outcome_unknown", uncertain: true},
		{name: "no answer", plan: harness.Plan{Lose: true}, says: "504 outcome_unknown", uncertain: true},
		{name: "half a head", plan: harness.Plan{CutAnswer: 12}, says: "504 outcome_unknown", uncertain: true},
		{name: "reset in the body", plan: harness.Plan{CutBody: 3}, says: "504 outcome_unknown", uncertain: true},
		{name: "1xx only", plan: harness.Plan{First: []string{"102 Processing"}, Lose: true}, says: "504 outcome_unknown", uncertain: true},
		{name: "413 early", plan: harness.Plan{Early: true}, body: large, says: "413", uncertain: true},
		{name: "401 early, closed", plan: harness.Plan{Early: true, Status: 401, Close: true}, body: large, says: "401", uncertain: true},
		{name: "201 early, closed", plan: harness.Plan{Early: true, Status: 201, Close: true}, body: large, says: "504 outcome_unknown", uncertain: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := "/" + strings.NewReplacer(" ", "-", ",", "").Replace(c.name)
			if c.body == "" {
				c.body = "from A"
			}
			store.Queue("PUT", path, c.plan)
			a := says(t, s, c.says, "PUT", path, stampOf(33, "a"), c.body)
			if got, want := a.header.Get("Retry-After"), fmt.Sprint(int(settle.Seconds())); a.String() == "504 outcome_unknown" && got != want {
				t.Errorf("Retry-After is %q, want %s", got, want)
			}
			answered := time.Now()
			b, err := send(fresh, http.MethodPut, s.URL()+path, stampOf(34, "b"), strings.NewReader("from B"))
			if err != nil || b.status/100 != 2 {
				t.Fatalf("B is answered %v, %v", b, err)
			}
			requests := requestsFor(store, path)
			if len(requests) != 2 {
				t.Fatalf("the store got %v, want A's once and B's once", requests)
			}
			// A's may have ended up to here; B's was sent no sooner than that.
			waited := requests[1].At - requests[0].At
			switch {
			case c.uncertain && waited < settle:
				t.Errorf("B's write was sent %v after A's, before settle was over", waited)
			case !c.uncertain && time.Since(answered) >= settle:
				t.Errorf("B was answered %v after A: it waited for a write that was over", time.Since(answered))
			}
			if got := store.Objects()[path]; got != "from B" {
				t.Errorf("the store holds %q", got)
			}
		})
	}
}

func requestsFor(store *harness.FakeStore, path string) (found []harness.Request) {
	for _, r := range store.Requests() {
		if r.Path == path {
			found = append(found, r)
		}
	}
	return found
}

// The result of a DELETE is in the body of its answer, and that breaks off.
// Shown: it is uncertain, though the status looked like success.
func TestAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	const settle = time.Second
	for _, c := range []struct {
		name string
		plan harness.Plan
	}{
		{"shorter than it says", harness.Plan{Status: 200, Body: "deleted", Length: 100}},
		{"reset", harness.Plan{Status: 200, Body: "deleted", CutAnswer: 42}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t, "--settle", settle.String())
			store.Set(report, "old")
			store.Queue("DELETE", report, c.plan)
			says(t, s, "504 outcome_unknown", "DELETE", report, stampOf(33, "a"), "")
			says(t, s, "201", "PUT", report, stampOf(34, "b"), "from B")
			sawOnce(t, store, "DELETE", report)
			requests := store.Requests()
			if waited := requests[1].At - requests[0].At; waited < settle {
				t.Errorf("B's write was sent %v after A's, before settle was over", waited)
			}
		})
	}
}
