//go:build unix

package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/fence"
)

// echo answers each request with its body, until it is cut off.
func echo(p *peer) {
	for {
		_, body := p.request()
		p.say(fmt.Sprintf("HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	}
}

// scheme is a way to reach a store.
type scheme struct {
	listen func(*testing.T, func(*peer)) *store
	open   func(*testing.T, *store, Options) *Remote
}

// schemes are those with and without TLS.
func schemes(t *testing.T, test func(*testing.T, scheme)) {
	t.Run("http", func(t *testing.T) {
		test(t, scheme{newStore, func(t *testing.T, s *store, o Options) *Remote { return open(t, s.url(), o) }})
	})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			ca := newAuthority(t)
			config := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "store.example")}, MaxVersion: version}
			test(t, scheme{
				func(t *testing.T, script func(*peer)) *store { return listen(t, config, script) },
				func(t *testing.T, s *store, o Options) *Remote {
					o.CAFile, o.ServerName = ca.file, "store.example"
					return open(t, "https://"+s.Addr().String(), o)
				},
			})
		})
	}
}

func TestOneConnectionForManyRequests(t *testing.T) {
	schemes(t, func(t *testing.T, by scheme) {
		s := by.listen(t, echo)
		u := by.open(t, s, Options{Idle: time.Minute})
		for i := range 100 {
			body := large[:i*i*30]
			if got := u.try(t, request("PUT", "/a"), body); got.outcome != fence.Definite || got.body != body {
				t.Fatalf("write %d: %.200s", i, got)
			}
			w := httptest.NewRecorder()
			if outcome, err := u.Read(w, request("GET", "/a")); outcome != fence.Definite || err != nil || w.Code != 201 {
				t.Fatalf("read %d: %v %v %d", i, outcome, err, w.Code)
			}
			if got := stream(t, u, t.Context(), strings.NewReader(body), int64(len(body))); got.outcome != fence.Definite || got.body != body {
				t.Fatalf("stream %d: %.200s", i, got)
			}
		}
	})
}

// 0 is one connection per request, and says so to the store.
func TestIdleZero(t *testing.T) {
	s := newStore(t, func(p *peer) {
		if head, _ := p.request(); !strings.Contains(head, "\r\nConnection: close\r\n") {
			t.Errorf("head %q", head)
		}
		p.say("HTTP/1.1 204 Done\r\n\r\n")
		p.wasReset()
	})
	s.wants = 10
	u := open(t, s.url(), Options{})
	for range s.wants {
		if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.Definite {
			t.Error(got)
		}
	}
}

func TestConcurrentRequests(t *testing.T) {
	schemes(t, func(t *testing.T, by scheme) {
		const writers = 16
		s := by.listen(t, echo)
		s.wants, s.maybe = writers, true
		u := by.open(t, s, Options{Idle: time.Minute})
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range 30 {
					body := fmt.Sprintf("%d of %d: %s", i, w, large[:i*w*200])
					if got := u.try(t, request("PUT", "/a"), body); got.outcome != fence.Definite || got.body != body {
						t.Errorf("%.200s", got)
					}
				}
			})
		}
		all.Wait()
	})
}

// Unused connections do not stay.
func TestIdleConnectionsEnd(t *testing.T) {
	for name, end := range map[string]func(*Remote){"in time": func(*Remote) {}, "with Close": func(u *Remote) { u.Close() }} {
		t.Run(name, func(t *testing.T) {
			const many = 5
			var together sync.WaitGroup
			together.Add(many)
			s := newStore(t, func(p *peer) {
				p.request()
				together.Done()
				together.Wait()
				p.say("HTTP/1.1 204 Done\r\n\r\n")
				p.wasReset()
			})
			s.wants = many
			u := open(t, s.url(), Options{Idle: 100 * time.Millisecond})
			var all sync.WaitGroup
			for range many {
				all.Go(func() {
					if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.Definite {
						t.Error(got)
					}
				})
			}
			all.Wait()
			end(u)
			s.stop() // waits until the store has seen them end
			if n := u.unused(); n != 0 {
				t.Errorf("%d connections are kept", n)
			}
		})
	}
}

// Reused again and again, a connection stays longer than Idle.
func TestIdleBeginsAnew(t *testing.T) {
	s := newStore(t, echo)
	u := open(t, s.url(), Options{Idle: 500 * time.Millisecond})
	for start := time.Now(); time.Since(start) < time.Second; time.Sleep(5 * time.Millisecond) { // time has to pass
		if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.Definite {
			t.Fatal(got)
		}
	}
}

func TestNotMoreAreKept(t *testing.T) {
	const many = maxIdle + 20
	var together sync.WaitGroup
	together.Add(many)
	s := newStore(t, func(p *peer) {
		p.request()
		together.Done()
		together.Wait()
		p.say("HTTP/1.1 204 Done\r\n\r\n")
		p.rest()
	})
	s.wants = many
	u := open(t, s.url(), Options{Idle: time.Minute})
	var all sync.WaitGroup
	for range many {
		all.Go(func() { u.try(t, request("PUT", "/a"), "body") })
	}
	all.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pool.idle) != maxIdle || len(u.pool.all) != maxIdle {
		t.Errorf("%d connections of %d are kept, want %d", len(u.pool.idle), len(u.pool.all), maxIdle)
	}
}

func TestCloseUnderLoad(t *testing.T) {
	schemes(t, func(t *testing.T, by scheme) {
		s := by.listen(t, echo)
		s.wants, s.maybe = 1000, true
		u := by.open(t, s, Options{Idle: time.Minute})
		var begun, all sync.WaitGroup
		for range 8 {
			begun.Add(1)
			all.Go(func() {
				for i := 0; ; i++ {
					res, outcome, err := u.Write(context.Background(), request("PUT", "/a"), strings.NewReader(large), 100_000)
					if i == 0 {
						begun.Done()
					}
					if err != nil {
						if !errors.Is(err, ErrClosed) || outcome == fence.Definite {
							t.Errorf("%v %v", outcome, err)
						}
						return
					}
					io.Copy(io.Discard, res.Body)
				}
			})
		}
		begun.Wait()
		u.Close()
		s.stop() // all connections have ended
		all.Wait()
		if n := u.unused(); n != 0 {
			t.Errorf("%d connections are kept", n)
		}
	})
}
