package integration

import (
	"fmt"
	"net/http"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// HTTP clients repeat by themselves what looks safe to repeat when a kept
// connection breaks: a DELETE without a body, all the more with an
// Idempotency-Key. Shown: A3, fencegate sends nothing twice. The second try would
// land after a newer holder's write, as one that began before it.
func TestDeleteIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		plan harness.Plan
	}{
		{"closed without an answer", harness.Plan{Lose: true}},
		{"reset without an answer", harness.Plan{Drop: harness.Reset}},
		{"closed and not done", harness.Plan{Lose: true, NoEffect: true}},
		{"broken off in its answer", harness.Plan{CutAnswer: 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t)
			kept := 0
			for i := range harness.Scale(100) {
				path := fmt.Sprintf("/object/%d", i)
				says(t, s, "201", "PUT", path, stampOf(33, "a"), "from A")
				store.Queue("DELETE", path, c.plan)
				if said := deleteOnce(t, s, path); said != "504 outcome_unknown" {
					t.Errorf("%s: A is answered %s", path, said)
				}
				sawOnce(t, store, "DELETE", path)
				if seen := requestsFor(store, path); seen[0].Conn == seen[1].Conn {
					kept++
				}
			}
			if kept == 0 {
				t.Error("no DELETE came on a connection that had been used before: the scenario did not happen")
			}
		})
	}
}

// The store closes each connection after its answer without saying so, so that
// whoever keeps it finds out later. Shown: a write is sent at most once all the
// same, and what is answered is what happened.
func TestDeleteOnADyingConnection(t *testing.T) {
	t.Parallel()
	store, s := overFakeStore(t)
	store.Plan(func(r harness.Request) harness.Plan { return harness.Plan{Close: true} })
	for i := range harness.Scale(300) {
		path := fmt.Sprintf("/object/%d", i)
		store.Set(path, "old")
		said := deleteOnce(t, s, path)
		seen, there := requestsFor(store, path), hasObject(store, path)
		switch {
		case len(seen) > 1:
			t.Fatalf("%s: the store got %v", path, seen)
		case said == "204" && !there && len(seen) == 1:
		case said == "504 outcome_unknown", said == "502 upstream_unreachable" && there:
		default:
			t.Fatalf("%s: A is answered %s, the store got %v, the object is there: %v", path, said, seen, there)
		}
	}
}

func hasObject(store *harness.FakeStore, path string) bool {
	_, there := store.Objects()[path]
	return there
}

// deleteOnce sends a DELETE that clients would repeat.
func deleteOnce(t testing.TB, s *harness.Server, path string) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodDelete, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Fencing-Token", fence.Token(33).String())
	r.Header.Set("X-Fencing-Owner", "owner-of-a")
	r.Header.Set("Idempotency-Key", "one-of-a-kind")
	res, err := fresh.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return answer{status: res.StatusCode, header: res.Header}.String()
}
