package harness

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A FakeStore is an object store over HTTP/1.1 that misbehaves exactly as a
// test plans, and knows in which order everything took effect. It runs in the
// test's process and keeps objects in memory: PUT, GET, HEAD, and DELETE of a
// path and everything below. A body that did not arrive whole has no effect,
// whatever the plan.
type FakeStore struct {
	t        testing.TB
	listener net.Listener
	ctx      context.Context // ends with the store
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu          sync.Mutex
	open        map[*net.TCPConn]bool
	plan        func(Request) Plan
	queues      map[string][]Plan
	objects     map[string]string
	requests    []*Request
	effects     []Effect
	connections int
	line        *Line // what connections come over, if it matters
}

// NewFakeStore starts a store on a free port of the loopback interface. It ends
// with the test, and effects that were still to come never do.
func NewFakeStore(t testing.TB) *FakeStore {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &FakeStore{
		t: t, listener: l,
		open: map[*net.TCPConn]bool{}, queues: map[string][]Plan{}, objects: map[string]string{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

// Addr returns host:port, URL the same as fencegate's --upstream wants it.
func (s *FakeStore) Addr() string { return s.listener.Addr().String() }
func (s *FakeStore) URL() string  { return "http://" + s.Addr() }

func (s *FakeStore) close() {
	s.stop()
	s.listener.Close()
	s.mu.Lock()
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *FakeStore) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		tcp := c.(*net.TCPConn)
		s.mu.Lock()
		s.connections++
		number := s.connections
		s.open[tcp] = true
		over := s.ctx.Err() != nil // close has gone through open already
		s.mu.Unlock()
		if over {
			tcp.Close()
			return
		}
		s.running.Go(func() {
			s.serve(tcp, number)
			tcp.Close()
			s.mu.Lock()
			delete(s.open, tcp)
			s.mu.Unlock()
		})
	}
}

// serve answers one connection's requests.
func (s *FakeStore) serve(c *net.TCPConn, number int) {
	in := bufio.NewReader(c)
	for {
		head, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		r := s.arrived(head, number)
		x := &exchange{store: s, conn: c, in: in, head: head, r: r, plan: s.planOf(*r)}
		if !x.run() || head.Close {
			return
		}
	}
}

func (s *FakeStore) arrived(head *http.Request, connection int) *Request {
	r := &Request{
		Conn: connection, At: Monotonic(),
		Method: head.Method, Path: head.URL.EscapedPath(), Query: head.URL.RawQuery, Header: head.Header,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	r.N = len(s.requests)
	return r
}

// take carries out a whole request and returns what an ordinary store answers;
// status 0 if it is too late for it.
func (s *FakeStore) take(x *exchange, body string) (status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, noEffect := x.r, x.plan.NoEffect
	now := Monotonic() // before the connection is looked at, not after
	if !x.mayStill(s.line, now) {
		return 0, ""
	}
	if s.ctx.Err() != nil {
		return http.StatusServiceUnavailable, ""
	}
	old, there := s.objects[r.Path]
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if !there {
			return http.StatusNotFound, ""
		}
		return http.StatusOK, old
	case http.MethodPut:
		status = http.StatusCreated
		if there {
			status = http.StatusNoContent
		}
	case http.MethodDelete:
		status = http.StatusNotFound
		for path := range s.objects {
			if path == r.Path || strings.HasPrefix(path, strings.TrimSuffix(r.Path, "/")+"/") {
				status = http.StatusNoContent
				if !noEffect {
					delete(s.objects, path)
				}
			}
		}
	default:
		return http.StatusNotImplemented, ""
	}
	if noEffect {
		return status, ""
	}
	if r.Method == http.MethodPut {
		s.objects[r.Path] = body
	}
	s.effects = append(s.effects, Effect{
		Seq: len(s.effects) + 1, At: now, Request: r.N,
		Method: r.Method, Path: r.Path, ID: writeID(r, body), Body: body, Header: r.Header,
	})
	return status, ""
}

func writeID(r *Request, body string) string {
	if id := r.Header.Get("X-Write-Id"); id != "" {
		return id
	}
	for _, pair := range strings.Split(r.Query, "&") {
		if id, ok := strings.CutPrefix(pair, "write_id="); ok {
			return id
		}
	}
	return body
}

// pass waits, and reports whether the store still runs then.
func (s *FakeStore) pass(d time.Duration) bool {
	if d <= 0 {
		return s.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

// await is pass for an event; nil has happened.
func (s *FakeStore) await(event <-chan struct{}) bool {
	if event == nil {
		return s.ctx.Err() == nil
	}
	select {
	case <-event:
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

// errCutHere is that a plan says to cut a body here.
var errCutHere = errors.New("the plan cuts the body here")

// counted is a body whose bytes are noted as they come.
type counted struct {
	io.Reader
	x *exchange
}

func (b counted) Read(p []byte) (int, error) {
	cut := b.x.plan.CutBody
	if cut > 0 {
		left := cut - b.x.r.Received // only this goroutine changes it
		if left <= 0 {
			return 0, errCutHere
		}
		p = p[:min(int64(len(p)), left)]
	}
	n, err := b.Reader.Read(p)
	b.x.store.note(b.x.r, func(r *Request) { r.Received += int64(n) })
	return n, err
}
