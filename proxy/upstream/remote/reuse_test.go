//go:build unix

package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
)

// arrival waits until something has arrived on the only unused connection, be
// it its end.
func (u *Remote) arrival(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pool.idle) != 1 {
		t.Fatalf("%d connections are kept, want 1", len(u.pool.idle))
	}
	u.pool.idle[0].arrival(t)
}

func (c *conn) arrival(t *testing.T) {
	t.Helper()
	err := c.socket.raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return err != syscall.EAGAIN
	})
	if err != nil {
		t.Fatal(err)
	}
}

// After which answers a connection is used again. Where two readers could see
// different ends of an answer, what follows may belong to anything.
func TestReuse(t *testing.T) {
	const chunked = "Transfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		method, body string
		answer       string
		kept         bool
	}{
		{"PUT", "body", "HTTP/1.1 201 Created\r\n" + whole, true},
		{"PUT", "body", "HTTP/1.1 204 No Content\r\n\r\n", true},
		{"PUT", "body", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", true},
		{"PUT", "body", "HTTP/1.1 201 Created\r\nConnection: keep-alive\r\n" + whole, true},
		{"PUT", "body", "HTTP/1.1 201 Created\r\n" + chunked + "4\r\ndone\r\n0\r\n\r\n", true},
		{"PUT", "body", "HTTP/1.1 201 Created\r\n" + chunked + "4\r\ndone\r\n0\r\nX-T: 1\r\n\r\n", true},
		{"DELETE", "", "HTTP/1.1 404 None\r\n" + whole, true},
		{"GET", "", "HTTP/1.1 200 OK\r\n" + whole, true},
		{"GET", "", "HTTP/1.1 304 Not Modified\r\n\r\n", true},
		{"GET", "", "HTTP/1.1 500 Oops\r\n" + whole, true},
		{"PROPFIND", "body", "HTTP/1.1 207 Multi-Status\r\n" + whole, true},

		{"PUT", "body", "HTTP/1.1 201 Created\r\nConnection: close\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\nConnection: X, Close\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.0 201 Created\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.0 201 Created\r\nConnection: keep-alive\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n" + chunked + "4\r\ndone\r\n0\r\n\r\n", false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\nX: 1\r\n  Transfer-Encoding: chunked\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 204 No Content\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 204 No Content\r\n" + chunked + "0\r\n\r\n", false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\n" + whole + "more", false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\n" + chunked + "4\r\ndone\r\n0\r\n\r\n\r\n", false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\n" + whole + "HTTP/1.1 201 Created\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\n" + chunked + "zz\r\n", false},
		{"PUT", "body", "HTTP/1.1 201 Created\r\nContent-Length: 9000000\r\n\r\n" + large[:9000000], false},
		{"PUT", "body", "HTTP/1.1 500 Oops\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 202 Later\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 403 No\r\n" + whole, false}, // it may not have read the body
		{"PROPFIND", "body", "HTTP/1.1 403 No\r\n" + whole, false},
		{"PUT", "body", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n", false},
		{"PUT", "body", "HTTP/1.1 204 No Content\r\n" + chunked, false},
		{"HEAD", "", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", false},
		{"HEAD", "", "HTTP/1.1 200 OK\r\n" + whole, false},
		{"GET", "", "HTTP/1.1 304 Not Modified\r\n" + whole, false},
		{"GET", "", "HTTP/1.1 200 OK\r\n" + whole + "more", false},
		{"GET", "", "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n" + whole, false},
	} {
		t.Run(c.method+" "+strings.Join(strings.Fields(c.answer[:min(len(c.answer), 70)]), " "), func(t *testing.T) {
			schemes(t, func(t *testing.T, by scheme) {
				var first atomic.Bool
				s := by.listen(t, func(p *peer) {
					if !first.Swap(true) {
						p.request()
						p.say(c.answer)
						if !c.kept {
							if n, _ := p.rest(); n != 0 {
								t.Errorf("%d bytes came on the connection", n)
							}
							return
						}
					}
					p.request()
					p.say("HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\nsecond")
				})
				s.wants = 2
				if c.kept {
					s.wants = 1
				}
				u := by.open(t, s, Options{Idle: time.Minute})
				r := request(c.method, "/a")
				switch c.method {
				case "GET", "HEAD", "PROPFIND":
					r.Body = readCloser{strings.NewReader(c.body)}
					if outcome, err := u.Read(httptest.NewRecorder(), r); outcome != fence.Definite || err != nil {
						t.Errorf("%v %v", outcome, err)
					}
				default:
					if got := u.try(t, r, c.body); got.res == nil {
						t.Error(got)
					}
				}
				if n := u.unused(); (n == 1) != c.kept {
					t.Fatalf("%d connections are kept", n)
				}
				if got := u.try(t, request("PUT", "/b"), "body"); got.outcome != fence.Definite || got.body != "second" {
					t.Errorf("the next request: %v", got)
				}
			})
		})
	}
}

// A read, too, leaves its connection only to requests after it whose answers
// cannot be its own.
func TestEarlyAnswersToReads(t *testing.T) {
	for name, answer := range map[string]func(*peer){
		"before the body": func(p *peer) { p.say("HTTP/1.1 207 Multi-Status\r\n" + whole); p.wasReset() },
		"around the body": func(p *peer) {
			p.say("HTTP/1.1 207 Multi-Status\r\n")
			p.body(maxQuestion)
			p.say(whole)
			p.wasReset()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := newStore(t, func(p *peer) {
				if calls.Add(1) > 1 {
					echo(p)
				}
				p.head()
				answer(p)
			})
			s.wants = 2
			u := open(t, s.url(), Options{Idle: time.Minute})
			r := request("PROPFIND", "/a")
			r.Body = readCloser{strings.NewReader(large[:maxQuestion])}
			w := httptest.NewRecorder()
			if outcome, err := u.Read(w, r); outcome != fence.Definite || err != nil || w.Body.String() != "done" {
				t.Errorf("%v %v %q", outcome, err, w.Body)
			}
			if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.Definite || got.body != "body" {
				t.Error(got)
			}
		})
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// What crypto/tls has decrypted or read ahead is not on the socket any more.
func TestNothingIsLeftInTLS(t *testing.T) {
	ca := newAuthority(t)
	for name, c := range map[string]struct {
		then string // after an answer that fills the reader's buffer
		kept bool
	}{"nothing": {"", true}, "more": {"more", false}, "another record": {large[:20000], false}} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			var calls atomic.Int64
			s := listen(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "store.example")}, MaxVersion: version, DynamicRecordSizingDisabled: true}, func(p *peer) {
				p.request()
				if calls.Add(1) > 1 {
					p.say("HTTP/1.1 204 Done\r\n\r\n")
					p.rest()
				}
				const head = "HTTP/1.1 200 OK\r\nContent-Length: 4055\r\n\r\n"
				p.say(head + large[:4096-len(head)] + c.then)
				p.rest()
			})
			s.wants, s.maybe = 2, true
			u := open(t, "https://"+s.Addr().String(), Options{CAFile: ca.file, ServerName: "store.example", Idle: time.Minute})
			if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.Definite || len(got.body) != 4055 {
				t.Errorf("%.100s", got)
			}
			if n := u.unused(); (n == 1) != c.kept {
				t.Errorf("%s: %d connections are kept", name, n)
			}
		}
	}
}

// What comes later than the answer, be it the end, is noticed before the
// connection is used.
func TestArrivalsBetweenRequests(t *testing.T) {
	for name, then := range map[string]func(*peer){
		"end":         func(p *peer) {},
		"reset":       func(p *peer) { p.netConn().SetLinger(0) },
		"half-closed": func(p *peer) { p.netConn().CloseWrite(); p.rest() },
		"line end":    func(p *peer) { p.say("\r\n"); p.rest() },
		"408":         func(p *peer) { p.say("HTTP/1.1 408 Slow\r\n" + whole) },
		"answer":      func(p *peer) { p.say("HTTP/1.1 201 Created\r\n" + whole); p.rest() },
	} {
		t.Run(name, func(t *testing.T) {
			schemes(t, func(t *testing.T, by scheme) {
				answered := make(chan struct{})
				var calls atomic.Int64
				s := by.listen(t, func(p *peer) {
					p.request()
					n := calls.Add(1)
					p.say("HTTP/1.1 201 Created\r\n" + whole)
					if n == 1 {
						<-answered
						then(p)
						return
					}
					p.rest()
				})
				s.wants = 2
				u := by.open(t, s, Options{Idle: time.Minute})
				u.warm(t)
				close(answered)
				u.arrival(t)
				if got := u.try(t, request("DELETE", "/a", "Idempotency-Key: 1"), ""); got.outcome != fence.Definite || got.body != "done" {
					t.Error(got)
				}
				if n := calls.Load(); n != 2 {
					t.Errorf("the store was called %d times, want 2", n)
				}
			})
		})
	}
}

func (p *peer) netConn() *net.TCPConn {
	if secure, ok := p.Conn.(*tls.Conn); ok {
		return secure.NetConn().(*net.TCPConn)
	}
	return p.Conn.(*net.TCPConn)
}

// net/http repeats such a request by itself, on another connection.
func TestRequestIsNotRepeated(t *testing.T) {
	for _, r := range []struct{ method, header string }{{"DELETE", "Idempotency-Key: 1"}, {"DELETE", "X-Idempotency-Key: 1"}, {"GET", "X: 1"}, {"PUT", "X: 1"}} {
		for name, end := range map[string]func(*peer){"closed": func(*peer) {}, "reset": func(p *peer) { p.netConn().SetLinger(0) }} {
			t.Run(r.method+" "+name, func(t *testing.T) {
				schemes(t, func(t *testing.T, by scheme) {
					var calls atomic.Int64
					s := by.listen(t, func(p *peer) {
						p.request()
						calls.Add(1)
						p.say("HTTP/1.1 204 Done\r\n\r\n")
						p.head()
						calls.Add(1)
						end(p)
					})
					u := by.open(t, s, Options{Idle: time.Minute})
					u.warm(t)
					outcome := fence.Definite
					if r.method == "GET" {
						outcome, _ = u.Read(unwritten{t}, request(r.method, "/a", r.header))
					} else {
						outcome = u.try(t, request(r.method, "/a", r.header), "").outcome
					}
					u.Close()
					s.stop()
					if n := calls.Load(); n != 2 || outcome != fence.Uncertain {
						t.Errorf("%d calls, %v; want one after the first, uncertain", n, outcome)
					}
				})
			})
		}
	}
}

// A store that closes after each answer without saying so: whichever comes
// first, its end or the next request, no request gets there twice, and none is
// called done that did not.
func TestUnannouncedCloses(t *testing.T) {
	schemes(t, func(t *testing.T, by scheme) {
		const requests = 300
		var mu sync.Mutex
		calls := map[string]int{}
		s := by.listen(t, func(p *peer) {
			head, _ := p.request()
			target := strings.Fields(head)[1]
			mu.Lock()
			calls[target]++
			mu.Unlock()
			p.say("HTTP/1.1 201 Created\r\n" + whole)
		})
		s.wants, s.maybe = requests, true
		u := by.open(t, s, Options{Idle: time.Minute})
		outcomes := map[string]fence.Outcome{}
		for i := range requests {
			target := fmt.Sprint("/", i)
			outcomes[target] = u.try(t, request("PUT", target), "body").outcome
		}
		s.stop()
		count := map[fence.Outcome]int{}
		for target, outcome := range outcomes {
			n := calls[target]
			if n > 1 || n == 0 && outcome == fence.Definite || n > 0 && outcome == fence.NotSent {
				t.Errorf("%s: called %d times, %v", target, n, outcome)
			}
			count[outcome]++
		}
		t.Log(count)
	})
}

// The connection breaks, for us, between the look at it and the write: nothing
// was sent, so another one may take the request.
func TestNothingTaken(t *testing.T) {
	schemes(t, func(t *testing.T, by scheme) {
		over := make(chan struct{})
		var calls atomic.Int64
		s := by.listen(t, func(p *peer) {
			p.request()
			n := calls.Add(1)
			p.say("HTTP/1.1 204 Done\r\n\r\n")
			if n == 1 {
				<-over // it does not react to the end of what it reads
				if n, _ := p.rest(); n != 0 {
					t.Errorf("%d bytes came", n)
				}
				return
			}
			p.rest()
		})
		s.wants = 2
		u := by.open(t, s, Options{Idle: time.Minute})
		u.warm(t)
		if err := u.pool.idle[0].socket.tcp.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		got := u.try(t, request("PUT", "/a"), large[:3*chunk])
		close(over)
		if got.outcome != fence.Definite || calls.Load() != 2 {
			t.Errorf("%v, %d calls", got, calls.Load())
		}
	})
}

// On a new connection the same is not tried again.
func TestNothingTakenOfANewConnection(t *testing.T) {
	over := make(chan struct{})
	s := newStore(t, func(p *peer) { <-over })
	s.maybe = true
	defer close(over)
	u := open(t, s.url(), Options{Idle: time.Minute})
	body := readerFunc(func(b []byte) (int, error) {
		u.mu.Lock()
		defer u.mu.Unlock()
		for c := range u.pool.all {
			c.socket.tcp.CloseWrite()
		}
		return copy(b, "body"), nil
	})
	if got := attempt(t, u, t.Context(), request("PUT", "/a"), body, 4); got.outcome != fence.NotSent || !errors.Is(got.err, syscall.EPIPE) {
		t.Error(got)
	}
}

// A connection that is kept keeps nothing of the last request, whose strings may
// be pieces of one long head.
func TestKeptConnectionsKeepNoRequest(t *testing.T) {
	const length = 8 << 20
	s := newStore(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	})
	u := open(t, s.url(), Options{Idle: time.Minute})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools have goes with the second one
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	head := "PUT/a" + strings.Repeat("x", length)
	if got := u.try(t, request(head[:3], head[3:5]), "body"); got.outcome != fence.Definite || u.unused() != 1 {
		t.Fatal(got, u.unused())
	}
	head = ""
	if kept := heap() - before; kept > length/2 {
		t.Errorf("%d bytes are kept", kept)
	}
	runtime.KeepAlive(u)
}
