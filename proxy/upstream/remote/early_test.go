//go:build unix

package remote

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

func TestEarlyAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		script  func(*peer)
		status  int
		outcome fence.Outcome
	}{
		{"417 before the body", func(p *peer) { p.head(); p.say("HTTP/1.1 417 No\r\n" + whole); p.wasReset() }, 417, fence.Uncertain},
		{"401 before the body", func(p *peer) { p.head(); p.say("HTTP/1.1 401 Who\r\n" + whole); p.wasReset() }, 401, fence.Uncertain},
		{"413 in the body", func(p *peer) { p.head(); p.body(1 << 20); p.say("HTTP/1.1 413 No\r\n" + whole); p.wasReset() }, 413, fence.Uncertain},
		{"507 in the body", func(p *peer) { p.head(); p.body(1 << 20); p.say("HTTP/1.1 507 Full\r\n" + whole); p.wasReset() }, 507, fence.Uncertain},
		{"413 after 100", func(p *peer) {
			p.head()
			p.say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 No\r\n" + whole)
			p.wasReset()
		}, 413, fence.Uncertain},
		{"413, then it reads on and closes", func(p *peer) {
			p.head()
			p.say("HTTP/1.1 413 No\r\nConnection: close\r\n" + whole)
			p.body(1 << 20)
		}, 413, fence.Uncertain},
		{"200, and it takes the rest", func(p *peer) {
			p.head()
			p.say("HTTP/1.1 200 OK\r\n" + whole)
			if p.body(len(large)) != large {
				p.t.Error("the store got another body")
			}
			p.wasReset()
		}, 200, fence.Uncertain},
		{"200, and it takes no more", func(p *peer) { p.head(); p.say("HTTP/1.1 200 OK\r\n" + whole); p.body(1 << 20) }, 0, fence.Uncertain},
		{"200 in parts around the body", func(p *peer) {
			p.head()
			p.say("HTTP/1.1 200 OK\r\n")
			p.body(len(large))
			p.say(whole)
		}, 200, fence.Uncertain},
		{"100 before the body, 201 after", func(p *peer) {
			p.head()
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(len(large))
			p.say("HTTP/1.1 201 Created\r\n" + whole)
		}, 201, fence.Definite},
		{"101 before the body", func(p *peer) { p.head(); p.say("HTTP/1.1 101 Go\r\n\r\n"); p.wasReset() }, 0, fence.Uncertain},
		{"closed before the body", func(p *peer) { p.head() }, 0, fence.Uncertain},
		{"closed in the body", func(p *peer) { p.head(); p.body(1 << 20) }, 0, fence.Uncertain},
	} {
		t.Run(c.name, func(t *testing.T) {
			newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
				_, u := serve(t, Options{}, c.script)
				got := u.try(t, request("PUT", "/a"), large)
				status := 0
				if got.res != nil {
					status = got.res.StatusCode
				}
				if status != c.status || got.outcome != c.outcome {
					t.Errorf("%v; want %d, %v", got, c.status, c.outcome)
				}
				if n := u.unused(); n > 0 && got.outcome != fence.Definite {
					t.Error("the connection is kept")
				}
			})
		})
	}
}

// What a store says on a new connection before it has read anything can be no
// answer to a write, which then is not sent.
func TestAnswersToNothing(t *testing.T) {
	for said, want := range map[string]struct {
		status  int
		outcome fence.Outcome
	}{
		"HTTP/1.1 503 Busy\r\nConnection: close\r\n" + whole: {503, fence.NotSent},
		"HTTP/1.1 403 No\r\n" + whole:                        {403, fence.NotSent},
		"HTTP/1.1 200 OK\r\n" + whole:                        {0, fence.NotSent},
		"SSH-2.0-OpenSSH_9.2\r\n\r\n":                        {0, fence.NotSent},
		"HTTP/1.1 100 Continue\r\n\r\n":                      {201, fence.Definite},
		strings.Repeat("HTTP/1.1 103 Hi\r\n\r\n", 50):        {201, fence.Definite},
	} {
		spoken := make(chan struct{})
		s := newStore(t, func(p *peer) {
			p.say(said)
			close(spoken)
			if p.head(); want.status != 201 {
				t.Errorf("%.20q: the store was sent a request", said)
			}
			p.body(4)
			p.say("HTTP/1.1 201 Created\r\n" + whole)
		})
		body := readerFunc(func(b []byte) (int, error) { // between connecting and sending
			<-spoken
			return copy(b, "body"), nil
		})
		got := attempt(t, open(t, s.url(), Options{Idle: time.Minute}), t.Context(), request("PUT", "/a"), body, 4)
		status := 0
		if got.res != nil {
			status = got.res.StatusCode
		}
		if status != want.status || got.outcome != want.outcome {
			t.Errorf("%.20q: %v; want %d, %v", said, got, want.status, want.outcome)
		}
	}
}

// An answer that came early may be read late, when all has been sent: it is an
// early one all the same.
func TestEarlyAnswerThatIsReadLate(t *testing.T) {
	for _, c := range []struct {
		first, then string
		early       bool
	}{
		{"HTTP/1.1 200 OK\r\n", whole, true},
		{"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\n" + whole, false},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nH", "TTP/1.1 200 OK\r\n" + whole, true},
	} {
		more := make(chan struct{})
		s := newStore(t, func(p *peer) {
			p.body(4)
			p.say(c.first)
			<-more
			p.body(4)
			p.say(c.then)
			p.rest()
		})
		u := open(t, s.url(), Options{Idle: time.Minute})
		late, err := u.connect(t.Context(), new(message))
		if err != nil {
			t.Fatal(err)
		}
		late.socket.Write([]byte("head"))
		late.arrival(t)
		late.socket.Write([]byte("body"))
		close(more)
		res, err := late.receive("PUT")
		for err == nil && res.StatusCode < 200 {
			res, err = late.receive("PUT")
		}
		if err != nil {
			t.Errorf("%q: %v", c.first, err)
		}
		if late.whole() == c.early {
			t.Errorf("%q counts as early: %v, want %v", c.first, !c.early, c.early)
		}
		u.drop(late)
	}
}

func TestEarlyAnswerThatIsReadLateWithTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		ca := newAuthority(t)
		more := make(chan struct{})
		s := listen(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "store.example")}, MaxVersion: version}, func(p *peer) {
			p.request()
			p.say("HTTP/1.1 204 Done\r\n\r\n")
			p.body(4)
			p.say("HTTP/1.1 200 OK\r\n")
			<-more
			p.body(4)
			p.say(whole)
			p.rest()
		})
		u := open(t, "https://"+s.Addr().String(), Options{CAFile: ca.file, ServerName: "store.example", Idle: time.Minute})
		u.warm(t)
		late, err := u.connect(t.Context(), new(message))
		if err != nil {
			t.Fatal(err)
		}
		late.text.Write([]byte("head"))
		late.arrival(t)
		late.text.Write([]byte("body"))
		close(more)
		if _, err := late.receive("PUT"); err != nil || late.whole() {
			t.Errorf("%v, whole: %v", err, late.whole())
		}
		u.drop(late)
	}
}

// With TLS, too, nothing is sent after what can be no answer.
func TestAnswersToNothingWithTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		ca := newAuthority(t)
		spoken := make(chan struct{})
		s := listen(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "store.example")}, MaxVersion: version}, func(p *peer) {
			p.say("HTTP/1.1 403 No\r\n" + whole)
			close(spoken)
			if n, _ := p.rest(); n > 0 {
				t.Errorf("the store was sent %d bytes", n)
			}
		})
		body := readerFunc(func(b []byte) (int, error) {
			<-spoken
			return copy(b, "body"), nil
		})
		u := open(t, "https://"+s.Addr().String(), Options{CAFile: ca.file, ServerName: "store.example"})
		if got := attempt(t, u, t.Context(), request("PUT", "/a"), body, 4); got.outcome != fence.NotSent {
			t.Error(got)
		}
	}
}
