package integration

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// An abortion is a way in which uploads break off, n of them at a time.
type abortion struct {
	name    string
	prefix  string // of the objects' paths
	held    bool   // all are for one object, for which they wait
	head    string
	body    string
	reached func(now harness.Metrics, n int) bool // all are where they are to break off
}

func bodies(size int) func(harness.Metrics, int) bool {
	return func(now harness.Metrics, n int) bool {
		return now.Gauge("fencegate_spool_bytes") >= float64(n*size) && waiting(now, n)
	}
}

func waiting(now harness.Metrics, n int) bool {
	return now.Gauge("fencegate_waiting_requests") == float64(n)
}

var stagedAbortions = []abortion{
	{name: "after the head", head: "Content-Length: 10", reached: waiting},
	{name: "in a small body", head: "Content-Length: 100000", body: strings.Repeat("x", 50_000), reached: bodies(50_000)},
	{name: "in a body in a file", head: "Content-Length: 2000000", body: strings.Repeat("x", 1_500_000), reached: bodies(1_500_000)},
	{name: "after a chunk", head: "Transfer-Encoding: chunked", body: "3\r\nabc\r\n", reached: bodies(3)},
	{name: "in a chunk", head: "Transfer-Encoding: chunked", body: "30\r\nabc", reached: waiting},
	{name: "asked for the body", head: "Content-Length: 10\r\nExpect: 100-continue", reached: waiting},
	{name: "in a body asked for", head: "Content-Length: 10\r\nExpect: 100-continue", body: "abc", reached: bodies(3)},
}

// Where something takes long at the store, uploads can also break off behind it
// and, streamed, in it.
var remoteAbortions = []abortion{
	{name: "waiting whole", held: true, head: "Content-Length: 3", body: "abc", reached: bodies(3)},
	{name: "waiting whole, in a file", held: true, head: "Content-Length: 1500000", body: strings.Repeat("x", 1_500_000), reached: bodies(1_500_000)},
	{name: "streamed, waiting", prefix: "/stream", held: true, head: "Content-Length: 10", reached: waiting},
	{name: "streamed, waiting, sent", prefix: "/stream", held: true, head: "Content-Length: 3", body: "abc", reached: waiting},
	{name: "streamed, waiting, expecting", prefix: "/stream", held: true, head: "Content-Length: 3\r\nExpect: 100-continue", reached: waiting},
	{name: "streamed, after the head", prefix: "/stream", head: "Content-Length: 10", reached: begun},
	{name: "streamed, in the body", prefix: "/stream", head: "Content-Length: 2000000", body: strings.Repeat("x", 50_000), reached: begun},
	{name: "streamed, in a chunk", prefix: "/stream", head: "Transfer-Encoding: chunked", body: "3\r\nabc\r\n30\r\nabc", reached: begun},
}

func begun(now harness.Metrics, n int) bool {
	return now.Gauge("fencegate_inflight_writes") == float64(n+2) // and what is held
}

// Ten thousand uploads break off, in all ways. Shown: liveness, and that
// nothing is left of them: no request, permit, entry, byte, file, goroutine or
// descriptor; and that the store saw none of what was staged.
func TestAbortedUploadsOverARemoteStore(t *testing.T) {
	t.Parallel()
	store := newAbortedStore(t)
	config := filepath.Join(t.TempDir(), "fencegate.yaml")
	if err := os.WriteFile(config, []byte("routes: [{path: /stream, body: stream}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Fencegate(t, "--config", config, "--upstream", store.URL, "--settle", "100ms", "--max-wait", "2m")
	a := newAborter(t, s)
	holder := stampOf(1, "holder") // whoever waits behind it has its token, and no owner
	var held sync.WaitGroup
	for _, path := range []string{"/held", "/stream/held"} {
		held.Go(func() {
			if _, err := send(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, http.MethodPut, s.URL()+path, holder, strings.NewReader("held")); err != nil {
				t.Error(err)
			}
		})
	}
	harness.Eventually(t, "both to be held", func() (any, bool) {
		now := s.Metrics()
		return now.Gauge("fencegate_inflight_writes"), begun(now, 0)
	})
	abortions := append(stagedAbortions, remoteAbortions...)
	for _, kind := range abortions {
		a.abort(kind, harness.Scale(7_000)/len(abortions)+1)
	}
	store.release()
	held.Wait()
	a.leftNothing()
	if staged := store.staged(); len(staged) != 1 || staged["/held"] != "held" {
		t.Errorf("of what was staged the store saw %q, want only what was held", staged)
	}
	says(t, s, "201", http.MethodPut, "/held", stampOf(2, "next"), "next")
	says(t, s, "201", http.MethodPut, "/stream/held", stampOf(2, "next"), "next")
	entries, err := os.ReadDir(filepath.Join(s.State, "spool"))
	if err != nil || len(entries) > 0 {
		t.Errorf("the spool holds %v, %v", entries, err)
	}
}

// The same over a directory, which stages by itself.
func TestAbortedUploadsOverADirectory(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	a := newAborter(t, s)
	for _, kind := range stagedAbortions {
		a.abort(kind, harness.Scale(3_000)/len(stagedAbortions)+1)
	}
	a.leftNothing()
	isSwept(t, s) // nothing is left to be swept
	entries, err := os.ReadDir(s.Data)
	if err != nil || len(entries) != 2 { // its own, and the one below
		t.Errorf("it stores %v, %v", entries, err)
	}
}

// aborter breaks uploads off.
type aborter struct {
	t     *testing.T
	s     *harness.Server
	quiet harness.Metrics // before
	tried int
}

func newAborter(t *testing.T, s *harness.Server) *aborter {
	t.Helper()
	says(t, s, "201", http.MethodPut, "/before", stampOf(1, "holder"), "v")
	return &aborter{t: t, s: s, quiet: s.Metrics()}
}

// batch is how many break off at a time.
const batch = 40

// abort breaks n uploads off, after all of a batch have got where they are to:
// half of them with a reset, half with an end.
func (a *aborter) abort(kind abortion, n int) {
	a.t.Helper()
	for n > 0 {
		k := min(n, batch)
		n -= k
		conns := make([]*net.TCPConn, k)
		var sent sync.WaitGroup
		for i := range conns {
			a.tried++
			path := fmt.Sprint(kind.prefix, "/up/", a.tried)
			if kind.held {
				path = kind.prefix + "/held"
			}
			conns[i] = a.start(path, kind)
			sent.Go(func() {
				if _, err := io.WriteString(conns[i], kind.body); err != nil {
					a.t.Errorf("%s: %v", kind.name, err)
				}
			})
		}
		sent.Wait()
		harness.Eventually(a.t, "uploads to break off "+kind.name, func() (any, bool) {
			now := a.s.Metrics()
			return a.state(now), kind.reached(now, k)
		})
		for i, c := range conns {
			if i%2 == 0 {
				if err := c.SetLinger(0); err != nil {
					a.t.Fatal(err)
				}
			}
			c.Close()
		}
		harness.Eventually(a.t, "uploads that broke off "+kind.name+" to be gone", func() (any, bool) {
			now := a.s.Metrics()
			return a.state(now), waiting(now, 0) && now.Gauge("fencegate_inflight_writes") <= 2 && now.Gauge("fencegate_spool_bytes") <= 8
		})
	}
}

// start sends the head of an upload, and awaits that its body is asked for
// where that is to come.
func (a *aborter) start(path string, kind abortion) *net.TCPConn {
	a.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.s.URL(), "http://"))
	if err != nil {
		a.t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(harness.Patience)); err != nil {
		a.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "PUT "+path+" HTTP/1.1\r\nHost: x\r\nX-Fencing-Token: 1\r\n"+kind.head+"\r\n\r\n"); err != nil {
		a.t.Fatal(err)
	}
	const proceed = "HTTP/1.1 100 Continue\r\n\r\n"
	if strings.Contains(kind.head, "Expect") && !kind.held {
		got := make([]byte, len(proceed))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != proceed {
			a.t.Fatalf("%s is answered %q, %v", kind.name, got, err)
		}
	}
	return conn.(*net.TCPConn)
}

// leftovers is what metrics tell of what is still there.
var leftovers = []string{"fencegate_waiting_requests", "fencegate_inflight_writes", "fencegate_settling_entries",
	"fencegate_spool_bytes", "go_goroutines", "process_open_fds"}

func (a *aborter) state(now harness.Metrics) string {
	var b strings.Builder
	for _, name := range leftovers {
		fmt.Fprintf(&b, "%s %v (%v before)  ", name, now.Gauge(name), a.quiet.Gauge(name))
	}
	return b.String()
}

// leftNothing waits until all is as it was before.
func (a *aborter) leftNothing() {
	a.t.Helper()
	a.t.Logf("%d uploads broke off", a.tried)
	harness.Eventually(a.t, "nothing to be left of uploads that broke off", func() (any, bool) {
		now := a.s.Metrics()
		for _, name := range leftovers {
			before := a.quiet.Gauge(name)
			if strings.HasPrefix(name, "fencegate_") {
				before = 0 // some of the write before may have been there still
			}
			if now.Gauge(name) > before {
				return a.state(now), false
			}
		}
		return nil, true
	})
	for _, r := range a.s.Logs() {
		if strings.Contains(r.Text("msg"), "panic") {
			a.t.Errorf("it logs %v", r)
		}
	}
}

// abortedStore keeps the write of what is held until release is called, and
// remembers which bodies came whole.
type abortedStore struct {
	*httptest.Server
	release func()

	mu   sync.Mutex
	seen map[string]string
}

func newAbortedStore(t *testing.T) *abortedStore {
	t.Helper()
	let := make(chan struct{})
	s := &abortedStore{release: sync.OnceFunc(func() { close(let) }), seen: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/stream") {
			s.note(r.URL.Path, "begun")
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if strings.HasSuffix(r.URL.Path, "/held") {
			<-let
		}
		s.note(r.URL.Path, string(text))
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.release)
	return s
}

func (s *abortedStore) note(path, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[path] = what
}

// staged returns what the store was sent of objects that are staged.
func (s *abortedStore) staged() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	staged := map[string]string{}
	for path, what := range s.seen {
		if !strings.HasPrefix(path, "/stream") && path != "/before" {
			staged[path] = what
		}
	}
	return staged
}
