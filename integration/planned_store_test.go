package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// overFakeStore starts a store that misbehaves as planned, and a fencegate with
// these arguments in front of it. Without another settle time its first hold is
// short.
func overFakeStore(t testing.TB, args ...string) (*harness.FakeStore, *harness.Server) {
	t.Helper()
	store := harness.NewFakeStore(t)
	if !slices.Contains(args, "--settle") {
		args = append(args, "--settle", "300ms")
	}
	return store, harness.Fencegate(t, append(args, "--upstream", store.URL())...)
}

// configured writes a configuration file with these routes, in YAML, and
// returns the arguments that name it.
func configured(t testing.TB, routes ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fencegate.yaml")
	text := "routes:\n  - " + strings.Join(routes, "\n  - ") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", path}
}

// pending is a request on its way.
type pending struct {
	t    testing.TB
	what string
	done chan struct{} // closed when the answer, or an error, is there
	a    answer
	err  error
}

// begins sends a request and does not wait for the answer.
func begins(t testing.TB, s *harness.Server, method, path string, stamp fence.Stamp, body string) *pending {
	p := &pending{t: t, what: method + " " + path + " with token " + stamp.Token.String(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.a, p.err = send(fresh, method, s.URL()+path, stamp, strings.NewReader(body))
	}()
	return p
}

// claims sends a claim and does not wait for the answer.
func claims(t testing.TB, s *harness.Server, path string, stamp fence.Stamp) *pending {
	body := `{"resource":"` + path + `","token":"` + stamp.Token.String() + `","owner":"` + string(stamp.Owner) + `"}`
	return begins(t, s, http.MethodPost, "/.well-known/fencegate/claims", fence.Stamp{}, body)
}

// says waits for the answer and compares it.
func (p *pending) says(want string) answer {
	p.t.Helper()
	<-p.done // fresh gives up by itself
	if p.err != nil || p.a.String() != want {
		p.t.Fatalf("%s is answered %v, %v, want %s\n%s", p.what, p.a, p.err, want, p.a.body)
	}
	return p.a
}

// sees waits until the store has the whole body of a request.
func sees(store *harness.FakeStore, method, path string) harness.Request {
	return store.AwaitRequest(method+" "+path, func(r harness.Request) bool {
		return r.Method == method && r.Path == path && r.Whole > 0
	})
}

// awaitBlocked waits until n requests wait for their turn, and not only for the
// ledger: a write to elsewhere that raises its mark after theirs has passed. It
// fails as soon as the store has seen one of them.
func awaitBlocked(t testing.TB, s *harness.Server, n int, store *harness.FakeStore) {
	t.Helper()
	seen := len(store.Requests())
	look := func(more int) {
		t.Helper()
		if requests := store.Requests(); len(requests) > seen+more {
			t.Fatalf("the store has seen %v, want %d requests only", requests, seen+more)
		}
	}
	harness.Eventually(t, "requests to wait for their turn", func() (any, bool) {
		look(0)
		waiting := s.Metrics().Gauge("fencegate_waiting_requests")
		return waiting, waiting == float64(n)
	})
	says(t, s, "201", "PUT", elsewhere, stampOf(1, "another"), "from another")
	look(1)
}

const elsewhere = "/elsewhere"

// tookEffect compares what happened at the store, each "METHOD /path id".
func tookEffect(t testing.TB, store *harness.FakeStore, want ...string) {
	t.Helper()
	var got []string
	for _, e := range store.Effects() {
		got = append(got, e.Method+" "+e.Path+" "+e.ID)
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Fatalf("at the store happened %q, want %q", got, want)
	}
}

// sawOnce fails unless the store got exactly one request with this method and
// path, whole or not.
func sawOnce(t testing.TB, store *harness.FakeStore, method, path string) {
	t.Helper()
	n := 0
	for _, r := range store.Requests() {
		if r.Method == method && r.Path == path {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("the store got %d requests %s %s, want 1: %v", n, method, path, store.Requests())
	}
}
