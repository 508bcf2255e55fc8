package remote

import (
	"strings"
	"testing"

	"fencegate/fence"
)

// A body that no socket buffers can hold.
var large = strings.Repeat("0123456789abcdef", 1<<20)

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
			s := newStore(t, c.script)
			got := open(t, s.url(), Options{}).try(t, request("PUT", "/a"), large)
			status := 0
			if got.res != nil {
				status = got.res.StatusCode
			}
			if status != c.status || got.outcome != c.outcome {
				t.Errorf("%v; want %d, %v", got, c.status, c.outcome)
			}
		})
	}
}
