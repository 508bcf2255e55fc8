package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"fencegate/fence"
)

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	u := open(t, "http://"+l.Addr().String(), Options{})
	if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.NotSent || got.err == nil {
		t.Error(got)
	}
}

func TestContextOver(t *testing.T) {
	s := newStore(t, func(*peer) {})
	s.wants = 0
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	got := attempt(t, open(t, s.url(), Options{}), ctx, request("PUT", "/a"), strings.NewReader("body"), 4)
	if got.outcome != fence.NotSent || !errors.Is(got.err, gone) {
		t.Error(got)
	}
}

// The context ends when the connection stands, TLS or not, but nothing was
// written.
func TestContextEndsBeforeTheFirstByte(t *testing.T) {
	ca := newAuthority(t)
	for scheme, config := range map[string]*tls.Config{"http": nil, "https": {Certificates: []tls.Certificate{ca.issue(t, "store.example")}}} {
		t.Run(scheme, func(t *testing.T) {
			cut := make(chan struct{})
			s := listen(t, config, func(p *peer) {
				if n, _ := p.rest(); n != 0 {
					t.Errorf("the store got %d bytes", n)
				}
				close(cut)
			})
			opts := Options{}
			if config != nil {
				opts = Options{CAFile: ca.file, ServerName: "store.example"}
			}
			ctx, cancel := context.WithCancel(t.Context())
			body := readerFunc(func(b []byte) (int, error) {
				cancel()
				<-cut
				return copy(b, "body"), nil
			})
			got := attempt(t, open(t, scheme+"://"+s.Addr().String(), opts), ctx, request("PUT", "/a"), body, 4)
			if got.outcome != fence.NotSent || !errors.Is(got.err, context.Canceled) {
				t.Error(got)
			}
		})
	}
}

func TestDialTimeout(t *testing.T) {
	// A listener that accepts nothing, behind TLS that so never comes up.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u := open(t, "https://"+l.Addr().String(), Options{DialTimeout: 1})
	if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.NotSent || !errors.Is(got.err, context.DeadlineExceeded) {
		t.Error(got)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// A body that cannot be read, or is too short, never arrives completed.
func TestFailingBodies(t *testing.T) {
	failure := errors.New("disk on fire")
	for name, c := range map[string]struct {
		body    io.Reader
		size    int64
		want    error
		outcome fence.Outcome
	}{
		"at once":     {iotest.ErrReader(failure), 4, failure, fence.NotSent},
		"short":       {strings.NewReader("bo"), 4, io.ErrUnexpectedEOF, fence.NotSent},
		"later":       {io.MultiReader(strings.NewReader(large), iotest.ErrReader(failure)), int64(len(large)) + 1, failure, fence.Uncertain},
		"large short": {strings.NewReader(large), int64(len(large)) + 1, io.ErrUnexpectedEOF, fence.Uncertain},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(p *peer) {
				p.head()
				if n, _ := p.rest(); n >= c.size {
					t.Errorf("the store got %d bytes", n)
				}
			})
			s.maybe = c.outcome == fence.NotSent
			got := attempt(t, open(t, s.url(), Options{}), t.Context(), request("PUT", "/a"), c.body, c.size)
			if got.outcome != c.outcome || !errors.Is(got.err, c.want) {
				t.Errorf("%v, want %v, %v", got, c.outcome, c.want)
			}
		})
	}
}

// A longer body than announced is cut at its size: the rest would be read as
// the next request.
func TestBodyEndsAtItsSize(t *testing.T) {
	s := newStore(t, func(p *peer) {
		if _, body := p.request(); body != "body" {
			t.Errorf("body %q", body)
		}
		p.say("HTTP/1.1 204 Done\r\n\r\n")
		if n, _ := p.rest(); n != 0 {
			t.Errorf("%d bytes follow the body", n)
		}
	})
	got := attempt(t, open(t, s.url(), Options{}), t.Context(), request("PUT", "/a"), strings.NewReader("body and more"), 4)
	if got.outcome != fence.Definite {
		t.Error(got)
	}
}

func TestClosedBeforeReading(t *testing.T) {
	s := newStore(t, func(*peer) {})
	got := open(t, s.url(), Options{}).try(t, request("PUT", "/a"), large)
	// The kernel may or may not have taken something before it learned.
	if got.res != nil || got.outcome == fence.Definite {
		t.Error(got)
	}
}

func TestTLSFailures(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "store.example")}}
	hello := func(p *peer) { p.rest() }
	for name, c := range map[string]struct {
		s    *store
		opts Options
	}{
		"not TLS":    {newStore(t, func(p *peer) { p.say("HTTP/1.1 400 Bad\r\n\r\n"); p.rest() }), Options{CAFile: ca.file, ServerName: "store.example"}},
		"closed":     {newStore(t, func(*peer) {}), Options{CAFile: ca.file, ServerName: "store.example"}},
		"other CA":   {listen(t, config, hello), Options{CAFile: other.file, ServerName: "store.example"}},
		"other name": {listen(t, config, hello), Options{CAFile: ca.file, ServerName: "else.example"}},
		"no name":    {listen(t, config, hello), Options{CAFile: ca.file}},
		"too old": {listen(t, &tls.Config{Certificates: config.Certificates, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, hello),
			Options{CAFile: ca.file, ServerName: "store.example"}},
	} {
		u := open(t, "https://"+c.s.Addr().String(), c.opts)
		if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.NotSent || got.err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
