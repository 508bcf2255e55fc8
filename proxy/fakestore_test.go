package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// fakeStore is an Upstream that answers as its fields say and remembers what
// it was sent.
type fakeStore struct {
	read  func(http.ResponseWriter, *http.Request) (fence.Outcome, error)
	write func(*http.Request, string) (*http.Response, fence.Outcome, error)

	mu   sync.Mutex
	seen []sent
}

// sent is one request as the store saw it.
type sent struct {
	method, target string
	path           string
	header         http.Header
	body           string
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		read: func(w http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "content")
			return fence.Definite, nil
		},
		write: func(*http.Request, string) (*http.Response, fence.Outcome, error) {
			return storeSays(http.StatusCreated, "stored"), fence.Definite, nil
		},
	}
}

// storeSays makes a complete answer of the store, with headers as "Name: value".
func storeSays(status int, body string, headers ...string) *http.Response {
	res := &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body))}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		res.Header.Add(name, value)
	}
	return res
}

func (s *fakeStore) note(r *http.Request, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, sent{r.Method, r.RequestURI, r.URL.Path, r.Header.Clone(), body})
}

func (s *fakeStore) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sent(nil), s.seen...)
}

func (s *fakeStore) count() int { return len(s.requests()) }

// Read implements Upstream.
func (s *fakeStore) Read(w http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
	s.note(r, "")
	s.mu.Lock()
	read := s.read // a test may give another one while clients still take the last answer
	s.mu.Unlock()
	return read(w, r)
}

// Write implements Upstream.
func (s *fakeStore) Write(ctx context.Context, r *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error) {
	text, err := io.ReadAll(body)
	if err != nil || int64(len(text)) != size {
		return nil, fence.NotSent, errors.New("the body does not have its size")
	}
	s.note(r, string(text))
	return s.carryOut(ctx, r, string(text))
}

// carryOut ends without an answer if ctx ends first, as a store over the
// network does.
func (s *fakeStore) carryOut(ctx context.Context, r *http.Request, body string) (*http.Response, fence.Outcome, error) {
	res, outcome, err := s.write(r.WithContext(ctx), body)
	if ctx.Err() != nil {
		return nil, fence.Uncertain, ctx.Err()
	}
	return res, outcome, err
}

// check fails the test when the store was sent what no store may be sent.
func (s *fakeStore) check(t *testing.T) {
	for _, r := range s.requests() {
		for name := range r.header {
			if hopByHop(name) || rerouting(name) || strings.HasPrefix(name, fencingPrefix) {
				t.Errorf("the store was sent %s with the header %s", r.target, name)
			}
		}
		if strings.Contains(strings.ToLower(r.path), ownPrefix.Key()) {
			t.Errorf("the store was sent %s, which is fencegate's own", r.target)
		}
	}
}

// fakeStager is a fakeStore that takes in bodies by itself.
type fakeStager struct {
	*fakeStore
	prepare func(*http.Request, io.Reader) error // nil: reads the body to its end

	mu                         sync.Mutex
	prepared, commits, aborted int
}

// staging makes the world's store one that stages.
func staging(s **fakeStager) func(*plan) {
	return func(p *plan) {
		*s = &fakeStager{fakeStore: p.fake}
		p.store = *s
	}
}

// Prepare implements Stager.
func (s *fakeStager) Prepare(_ context.Context, r *http.Request, body io.Reader) (
	func(context.Context) (*http.Response, fence.Outcome, error), func(), error) {
	var text strings.Builder
	prepare := s.prepare
	if prepare == nil {
		prepare = func(_ *http.Request, body io.Reader) error { _, err := io.Copy(&text, body); return err }
	}
	if err := prepare(r, body); err != nil {
		return nil, nil, err
	}
	s.tally(&s.prepared)
	commit := func(ctx context.Context) (*http.Response, fence.Outcome, error) {
		s.tally(&s.commits)
		s.note(r, text.String())
		return s.carryOut(ctx, r, text.String())
	}
	return commit, func() { s.tally(&s.aborted) }, nil
}

func (s *fakeStager) tally(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// wants checks how often what was called.
func (s *fakeStager) wants(t *testing.T, prepared, commits, aborted int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared != prepared || s.commits != commits || s.aborted != aborted {
		t.Errorf("prepared %d, committed %d, aborted %d; want %d, %d, %d",
			s.prepared, s.commits, s.aborted, prepared, commits, aborted)
	}
}

// fakeStreamer is a fakeStore that takes bodies while they arrive. What of them
// was cut off it remembers apart.
type fakeStreamer struct {
	*fakeStore
	// stream replaces what is done with a body: by default it is read to its end
	// and then stored.
	stream func(context.Context, *http.Request, io.Reader) (*http.Response, fence.Outcome, error)

	taken atomic.Int64 // bytes of bodies

	partsMu sync.Mutex
	parts   []string // of bodies that were cut off
}

// streaming makes the world's store one that takes bodies while they arrive, and
// has them sent so.
func streaming(s **fakeStreamer) func(*plan) {
	return func(p *plan) {
		*s = &fakeStreamer{fakeStore: p.fake}
		p.store, p.opts.Rest.Stream = *s, true
	}
}

// Stream implements Streamer.
func (s *fakeStreamer) Stream(ctx context.Context, r *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error) {
	if s.stream != nil {
		return s.stream(ctx, r, body)
	}
	text, err := s.take(body)
	if err == nil && size >= 0 && int64(len(text)) != size {
		err = errors.New("the body does not have its size")
	}
	if err != nil {
		s.partsMu.Lock()
		s.parts = append(s.parts, text)
		s.partsMu.Unlock()
		return nil, fence.Uncertain, fmt.Errorf("sending: %w", err)
	}
	s.note(r, text)
	return s.carryOut(ctx, r, text)
}

func (s *fakeStreamer) take(body io.Reader) (string, error) {
	var text strings.Builder
	for buf := make([]byte, 4<<10); ; {
		n, err := body.Read(buf)
		text.Write(buf[:n])
		s.taken.Add(int64(n))
		if err == io.EOF {
			return text.String(), nil
		}
		if err != nil {
			return text.String(), err
		}
	}
}

// took waits until the store has been handed so many bytes.
func (s *fakeStreamer) took(t *testing.T, n int) {
	t.Helper()
	harness.Eventually(t, "bytes to reach the store", func() (any, bool) {
		got := s.taken.Load()
		return got, got == int64(n)
	})
}

// cutOff checks what the store has of bodies that did not come whole.
func (s *fakeStreamer) cutOff(t *testing.T, want ...string) {
	t.Helper()
	s.partsMu.Lock()
	defer s.partsMu.Unlock()
	if fmt.Sprintf("%q", s.parts) != fmt.Sprintf("%q", want) {
		t.Errorf("the store has the parts %.200q of bodies, want %q", s.parts, want)
	}
	s.parts = nil
}
