package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// overFakeStore starts a store that misbehaves as planned, and a fencegate with
// these arguments in front of it.
func overFakeStore(t testing.TB, args ...string) (*harness.FakeStore, *harness.Server) {
	t.Helper()
	store := harness.NewFakeStore(t)
	return store, harness.Fencegate(t, append([]string{"--upstream", store.URL()}, args...)...)
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

// awaitWaiting waits until n requests wait for their turn. It fails as soon as
// the store has seen more than the requests it may have seen by then.
func awaitWaiting(t testing.TB, s *harness.Server, n int, store *harness.FakeStore, seen int) {
	t.Helper()
	harness.Eventually(t, "requests to wait for their turn", func() (any, bool) {
		if requests := store.Requests(); len(requests) > seen {
			t.Fatalf("the store has seen %v, want %d requests only", requests, seen)
		}
		waiting := s.Metrics().Gauge("fencegate_waiting_requests")
		return waiting, waiting == float64(n)
	})
}

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
