package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// helped is a fencegate lock whose helper a test talks to.
type helped struct {
	*harness.Process
	t                        testing.TB
	url, proxy, token, owner string
	addr, secret             string // parts of url
}

// help starts a fencegate lock on report.
func help(t testing.TB, redis, fence string, flags ...string) *helped {
	t.Helper()
	p := harness.Start(t, "lock", lockAt(t, redis, fence, append(flags, "--", "bash", "-c",
		`trap 'exit 0' TERM
echo "url=$FENCEGATE_URL"; echo "proxy=$http_proxy"; echo "token=$FENCING_TOKEN"; echo "owner=$FENCING_OWNER"
while :; do sleep 0.02; done`)...))
	h := &helped{Process: p, t: t}
	for _, v := range []struct {
		name string
		to   *string
	}{{"url=", &h.url}, {"proxy=", &h.proxy}, {"token=", &h.token}, {"owner=", &h.owner}} {
		*v.to = strings.TrimPrefix(p.AwaitLine(v.name), v.name)
	}
	u, err := url.Parse(h.url)
	if err != nil || len(u.Path) < 20 {
		t.Fatalf("FENCEGATE_URL is %q, %v", h.url, err)
	}
	h.addr, h.secret = u.Host, u.Path[1:]
	return h
}

// dial opens a connection to the helper.
func (h *helped) dial() *wire {
	h.t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * harness.Patience)); err != nil {
		h.t.Fatal(err)
	}
	return &wire{h.t, conn, bufio.NewReader(conn)}
}

// asks sends a request without a body as it is written, and returns the answer.
// SECRET stands for the secret.
func (h *helped) asks(method, target string, header ...string) answer {
	h.t.Helper()
	w := h.dial()
	text := method + " " + target + " HTTP/1.1\nHost: " + h.addr + "\nConnection: close\n"
	for _, line := range header {
		text += line + "\n"
	}
	w.send(strings.ReplaceAll(text, "SECRET", h.secret) + "\n")
	a, err := w.next(method)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, target, err)
	}
	return a
}

// done ends it and looks whether it has said a secret.
func (h *helped) done() {
	h.t.Helper()
	h.Signal(15)
	wantCode(h.t, h.Process, 0)
	if conn, err := net.Dial("tcp", h.addr); err == nil {
		conn.Close()
		h.t.Error("the helper outlives its command")
	}
	for _, line := range h.Stderr() {
		if line != "Terminated" { // bash, of the command that it waited for
			h.t.Errorf("fencegate lock says %q", line)
		}
	}
}

// fakeFence confirms every claim and answers all else as a test wants, to show
// what reaches a fence.
type fakeFence struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

func newFakeFence(t testing.TB, handle http.HandlerFunc) *fakeFence {
	t.Helper()
	f := &fakeFence{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.RequestURI == "/.well-known/fencegate/claims" && r.Header.Get("X-Test") == "" {
			confirm(w, r)
			return
		}
		f.mu.Lock()
		f.seen = append(f.seen, r)
		f.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// confirm answers a claim.
func confirm(w http.ResponseWriter, r *http.Request) {
	var c struct {
		Resource, Token string
		Resources       []string
		Tree            bool
	}
	_ = json.NewDecoder(r.Body).Decode(&c)
	if c.Resource != "" {
		c.Resources = append(c.Resources, c.Resource)
	}
	type claimed struct {
		Resource string `json:"resource"`
		Covers   string `json:"covers"`
	}
	var all []claimed
	for _, name := range c.Resources {
		all = append(all, claimed{name, map[bool]string{true: "tree", false: "object"}[c.Tree]})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"resources": all, "token": c.Token, "ledger": "x"})
}

// got returns the requests since the last call, claims of the lock left out.
func (f *fakeFence) got() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.seen
	f.seen = nil
	return seen
}

// one returns the only request since the last call.
func (f *fakeFence) one(t testing.TB) *http.Request {
	t.Helper()
	seen := f.got()
	if len(seen) != 1 {
		t.Fatalf("%d requests reached the fence, want 1", len(seen))
	}
	return seen[0]
}

// fine answers everything with 204.
func fine(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// problem answers as a fence does.
func problem(status int, reason string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("X-Fencing-Reason", reason)
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"reason":%q,"detail":"Told by a test.","highest":"99"}`, reason)
	}
}
