package harness

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// A Request is what a FakeStore has seen of one request. Times are those of
// Monotonic.
type Request struct {
	N      int // counts all requests, from 1
	Conn   int // counts connections, from 1
	At     time.Duration
	Method string
	Path   string // as it came, escaped
	Query  string
	Header http.Header

	Received int64         // bytes of body that have come
	Whole    time.Duration // when the body had come whole; 0: it has not
	Answered time.Duration // when the answer had been written whole; 0: not
}

// An Effect is a change of what the store holds, or a DELETE of nothing.
type Effect struct {
	Seq     int           // counts all effects, from 1: the order in which they happened
	At      time.Duration // Monotonic
	Request int           // its N
	Method  string
	Path    string
	// ID tells writes apart: the header X-Write-Id, or the parameter write_id
	// of the query; else the body.
	ID     string
	Body   string
	Header http.Header
}

func (e Effect) String() string { return fmt.Sprintf("%d %s %s %.60q", e.Seq, e.Method, e.Path, e.ID) }

// Requests returns all that came, in the order of their heads.
func (s *FakeStore) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]Request, len(s.requests))
	for i, r := range s.requests {
		requests[i] = *r
	}
	return requests
}

// Effects returns all that happened, in order.
func (s *FakeStore) Effects() []Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects)
}

// Objects returns what the store holds, by path.
func (s *FakeStore) Objects() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.objects)
}

// Set puts an object there without an effect in the log.
func (s *FakeStore) Set(path, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = content
}

// Received returns how many bytes of bodies have come for path.
func (s *FakeStore) Received(path string) (n int64) {
	for _, r := range s.Requests() {
		if r.Path == path {
			n += r.Received
		}
	}
	return n
}

// Connections returns how many connections were accepted.
func (s *FakeStore) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// AwaitRequest returns the first request that match accepts.
func (s *FakeStore) AwaitRequest(what string, match func(Request) bool) (found Request) {
	s.t.Helper()
	Eventually(s.t, "the store to see "+what, func() (any, bool) {
		requests := s.Requests()
		i := slices.IndexFunc(requests, match)
		if i >= 0 {
			found = requests[i]
		}
		return requests, i >= 0
	})
	return found
}

// AwaitEffect returns the first effect that match accepts.
func (s *FakeStore) AwaitEffect(what string, match func(Effect) bool) (found Effect) {
	s.t.Helper()
	Eventually(s.t, "the store to carry out "+what, func() (any, bool) {
		effects := s.Effects()
		i := slices.IndexFunc(effects, match)
		if i >= 0 {
			found = effects[i]
		}
		return effects, i >= 0
	})
	return found
}

// note changes what is known of a request.
func (s *FakeStore) note(r *Request, change func(*Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(r)
}
