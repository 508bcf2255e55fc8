package lockclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// body is a request body that tells whether it was closed.
type body struct {
	io.Reader
	closed atomic.Bool
}

func newBody(s string) *body { return &body{Reader: strings.NewReader(s)} }

func (b *body) Close() error { b.closed.Store(true); return nil }

// roundTripper is a base that tests control.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ok answers 200 and notes what was sent.
func ok(sent **http.Request) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		*sent = r
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	}
}

// held returns a lock on /r whose fence has confirmed it.
func held(t *testing.T, opts ...Option) (*Lock, *fakeFence, *server) {
	t.Helper()
	s, f := startRedis(t), startFence(t)
	return mustLock(t, s.client(WithFence(f.URL)), "/r", opts...), f, s
}

func TestTransportScope(t *testing.T) {
	plain, f, s := held(t)
	c := s.client(WithFence(f.URL))
	tree := mustLock(t, c, "/t", WithTree())
	spelt := mustLock(t, c, "/a%20b")
	u, _ := url.Parse(f.URL)
	const stamped, bare, refused = "stamped", "untouched", "refused"
	for _, tc := range []struct {
		lock        *Lock
		method, url string
		destination string
		want        string
	}{
		{plain, "PUT", f.URL + "/r", "", stamped},
		{plain, "PUT", f.URL + "/r?x=1", "", stamped},
		{plain, "GET", f.URL + "/r", "", stamped},
		{plain, "HEAD", f.URL + "/r", "", stamped},
		{plain, "DELETE", f.URL + "/r/", "", stamped},
		{plain, "PUT", f.URL + "/%72", "", stamped},
		{plain, "PUT", strings.ToUpper(u.Scheme) + "://" + u.Host + "/r", "", stamped},
		{plain, "PUT", f.URL + "/r/below", "", refused},
		{plain, "PUT", f.URL + "/rest", "", refused},
		{plain, "PUT", f.URL + "/", "", refused},
		{plain, "PUT", f.URL, "", refused},
		{plain, "PUT", f.URL + "/x/../r", "", refused},
		{plain, "PUT", f.URL + "//r", "", refused},
		{plain, "POST", f.URL + "/other", "", refused},
		{plain, "MKCOL", f.URL + "/other", "", refused},
		{plain, "UNHEARD-OF", f.URL + "/other", "", refused},
		{plain, "GET", f.URL + "/other", "", bare},
		{plain, "OPTIONS", f.URL + "/other", "", bare},
		{plain, "PROPFIND", f.URL + "/", "", bare},
		{plain, "PUT", "http://elsewhere.example/r", "", bare},
		{plain, "PUT", "https://" + u.Host + "/r", "", bare},
		{plain, "PUT", "http://" + u.Hostname() + ":1/r", "", bare},
		{tree, "PUT", f.URL + "/t", "", stamped},
		{tree, "PUT", f.URL + "/t/deep/er", "", stamped},
		{tree, "DELETE", f.URL + "/t/deep", "", stamped},
		{tree, "PUT", f.URL + "/tt", "", refused},
		{tree, "MOVE", f.URL + "/t/a", f.URL + "/t/b", stamped},
		{tree, "MOVE", f.URL + "/t/a", "/t/b", stamped},
		{tree, "MOVE", f.URL + "/t/a", f.URL + "/other", refused},
		{tree, "MOVE", f.URL + "/other", f.URL + "/t/b", refused},
		{tree, "MOVE", f.URL + "/t/a", "", refused},
		{tree, "MOVE", f.URL + "/t/a", "http://elsewhere.example/t/b", refused},
		{tree, "COPY", f.URL + "/other", f.URL + "/t/b", stamped},
		{tree, "COPY", f.URL + "/t/a", f.URL + "/other", refused},
		{spelt, "PUT", f.URL + "/a%20b", "", stamped},
		{spelt, "PUT", f.URL + "/%61%20b", "", stamped},
	} {
		t.Run(tc.method+" "+tc.url+" "+tc.destination, func(t *testing.T) {
			b := newBody("x")
			req, err := http.NewRequest(tc.method, tc.url, b)
			if err != nil {
				t.Fatal(err)
			}
			if tc.destination != "" {
				req.Header.Set("Destination", tc.destination)
			}
			var sent *http.Request
			resp, err := tc.lock.Transport(ok(&sent)).RoundTrip(req)
			if !b.closed.Load() {
				t.Error("the body is still open")
			}
			if req.Header.Get(headerToken) != "" {
				t.Error("the caller's request was changed")
			}
			got := refused
			switch {
			case sent == nil:
				var scope *ScopeError
				if !errors.As(err, &scope) || scope.Method != tc.method || scope.Lock != tc.lock.Resource() {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Error(err)
			case sent.Header.Get(headerToken) == "" && sent.Header.Get(headerOwner) == "":
				got = bare
			default:
				got = stamped
				stamp := tc.lock.Stamp()
				if sent.Header.Get(headerToken) != stamp.Token.String() || sent.Header.Get(headerOwner) != string(stamp.Owner) ||
					sent.Header.Get(headerClient) != stamp.Client || sent.GetBody != nil {
					t.Errorf("sent %v", sent.Header)
				}
				if resp.Request != req {
					t.Error("the response names another request, which holds the owner")
				}
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestTransportNeedsAFence(t *testing.T) {
	l := mustLock(t, startRedis(t).client(), "/r")
	var sent *http.Request
	req, _ := http.NewRequest(http.MethodPut, "http://localhost/r", newBody("x"))
	if _, err := l.Transport(ok(&sent)).RoundTrip(req); err == nil || sent != nil {
		t.Errorf("sent %v, %v", sent, err)
	}
}

func TestTransportRefusesOnceTheLeaseIsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*Lock, *fakeClock)
		want error
	}{
		"deadline passed unnoticed": {func(_ *Lock, clock *fakeClock) { clock.advance(0, 0, time.Minute) }, ErrLost},
		"lost":                      {func(l *Lock, _ *fakeClock) { _ = l.lose(Stolen, nil) }, ErrLost},
		"released":                  {func(l *Lock, _ *fakeClock) { _ = l.Unlock(context.Background()) }, ErrReleased},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := startRedis(t), startFence(t)
			c, clock := s.client(WithFence(f.URL)), &fakeClock{}
			c.clock = clock
			l := mustLock(t, c, "/r")
			tc.end(l, clock)
			for _, method := range []string{"PUT", "GET"} {
				b := newBody("x")
				req, _ := http.NewRequest(method, f.URL+"/r", b)
				var sent *http.Request
				_, err := l.Transport(ok(&sent)).RoundTrip(req)
				if sent != nil || !errors.Is(err, tc.want) || !b.closed.Load() {
					t.Errorf("%s: sent %v, closed %v, %v", method, sent != nil, b.closed.Load(), err)
				}
			}
		})
	}
}

// A request that still waits for its connection when the lease ends is not
// sent; net/http would send it as soon as it has one.
func TestTransportCutsARequestThatHasNotBegun(t *testing.T) {
	l, f, _ := held(t)
	dialling, dialled := make(chan struct{}), make(chan struct{})
	base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		close(dialling)
		<-dialled
		return (&net.Dialer{}).DialContext(context.WithoutCancel(ctx), network, addr)
	}}
	defer base.CloseIdleConnections()
	var arrived atomic.Bool
	f.serve = func(http.ResponseWriter, *http.Request) { arrived.Store(true) }
	done := make(chan error, 1)
	go func() {
		done <- put(l.Transport(base), f.URL+"/r")
	}()
	<-dialling
	_ = l.lose(Stolen, nil)
	err := within(t, 5*time.Second, done, "the request ends")
	close(dialled)
	if !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	if arrived.Load() {
		t.Error("it was sent")
	}
}

// A write that has begun is left alone.
func TestTransportDoesNotCutAWriteThatHasBegun(t *testing.T) {
	l, f, _ := held(t)
	begun, lost := make(chan struct{}), make(chan struct{})
	f.serve = func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-lost
		if data, err := io.ReadAll(r.Body); err != nil || string(data) != "x" {
			t.Errorf("the body was cut: %q, %v", data, err)
		}
		_, _ = io.WriteString(w, "done")
	}
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	done := make(chan error, 1)
	go func() { done <- put(l.Transport(base), f.URL+"/r") }()
	<-begun
	_ = l.lose(Stolen, nil)
	close(lost)
	if err := within(t, 5*time.Second, done, "answer"); err != nil {
		t.Error(err)
	}
}

// put sends one write, with header names and values, and reads the answer.
func put(rt http.RoundTripper, url string, header ...string) error {
	req := must(http.NewRequest(http.MethodPut, url, strings.NewReader("x")))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.ReadAll(resp.Body)
	return err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRedirectsCarryNoOwnerAway(t *testing.T) {
	l, f, _ := held(t)
	var elsewhere http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere = r.Header }))
	defer other.Close()
	f.serve = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(headerOwner) == "" {
			t.Error("the first hop has no owner")
		}
		http.Redirect(w, r, other.URL+"/r", http.StatusTemporaryRedirect)
	}
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	resp, err := (&http.Client{Transport: l.Transport(base)}).Get(f.URL + "/r")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if elsewhere == nil {
		t.Fatal("the redirect was not followed")
	}
	for _, h := range []string{headerToken, headerOwner, headerClient} {
		if elsewhere.Get(h) != "" {
			t.Errorf("%s went to another origin", h)
		}
	}
}

// Followed elsewhere, a write would succeed where nothing fences it.
func TestAWriteIsNotRedirectedToAnotherOrigin(t *testing.T) {
	l, f, _ := held(t)
	var arrived atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer other.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	u, _ := url.Parse(other.URL)
	for _, tc := range []struct {
		status   int
		location string
		want     int32 // requests that arrive elsewhere; 0: a *ScopeError
	}{
		{301, other.URL + "/r", 0}, {302, other.URL + "/r", 0}, {307, other.URL + "/r", 0},
		{308, "//" + u.Host + "/r?secret", 0},
		{303, other.URL + "/r", 1}, // the write is done, and a GET asks for what came of it
	} {
		f.serve = func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", tc.location)
			w.WriteHeader(tc.status)
		}
		arrived.Store(0)
		err := put(l.Transport(base), f.URL+"/r")
		var scope *ScopeError
		if got := arrived.Load(); got != tc.want || errors.As(err, &scope) != (tc.want == 0) || tc.want > 0 && err != nil {
			t.Errorf("%d to %s: %d arrived, %v", tc.status, tc.location, got, err)
		}
		if scope != nil && scope.URL != other.URL+"/r" {
			t.Errorf("%d: it names %s", tc.status, scope.URL)
		}
	}
	f.serve = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "" {
			http.Redirect(w, r, strings.ToUpper(f.URL)+"/r?again", http.StatusTemporaryRedirect)
		}
	}
	if err := put(l.Transport(base), f.URL+"/r"); err != nil {
		t.Errorf("to the same origin: %v", err)
	}
	if err := l.Err(); err != nil {
		t.Error(err)
	}
}

// The whole point: a holder that was paused writes after the next one.
func TestAZombieIsFenced(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	zombie := mustLock(t, s.client(WithFence(f.URL)), "/r")
	s.flush() // the lease is over for Redis, but the zombie does not know
	next, err := s.client(WithFence(f.URL)).TryLock(t.Context(), "/r")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Unlock(context.Background()) }()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	err = put(zombie.Transport(base), f.URL+"/r")
	var fenced *FencedError
	if !errors.As(err, &fenced) || fenced.Highest != next.Token() {
		t.Errorf("got %v", err)
	}
	if err := put(next.Transport(base), f.URL+"/r"); err != nil {
		t.Error(err)
	}
}
