package proxy

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

var isUnknown = want{status: 504, reason: reasonUnknown, resource: "/a", token: "4", closes: true}

// A newer token cuts off a stream that has begun, wherever it stands, and
// passes at once. What became of the older one nobody knows.
func TestNewerTokenCutsAStream(t *testing.T) {
	for _, c := range []struct{ name, head, begin, part string }{
		{"nothing sent yet", "Content-Length: 10", "", ""},
		{"begun", "Content-Length: 10", "abc", "abc"},
		{"much", "Content-Length: 1073741824", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20)},
		{"chunked", "Transfer-Encoding: chunked", "3\r\nabc\r\n", "abc"},
		{"expecting", "Content-Length: 10\nExpect: 100-continue", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s *fakeStreamer
			w := open(t, streaming(&s))
			old := w.dial()
			request := "PUT /a\nX-Fencing-Token: 4\n" + c.head
			old.send(request)
			if strings.Contains(c.head, "Expect") {
				old.proceeds()
			}
			old.raw(c.begin)
			s.took(t, len(c.part))
			w.inFlight(0, 1)
			start := time.Now()
			w.says("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("the newer one waited for %v", took)
			}
			old.gets(request, isUnknown)
			w.saw("PUT /a")
			s.cutOff(t, c.part)
			if n := w.gauge("fencegate_uncertain_total"); n != 1 {
				t.Errorf("%v writes are counted as uncertain, want 1", n)
			}
			w.ended()
			if n := w.gauge("fencegate_requests_total{decision=unknown,operation=write}"); n != 1 {
				t.Errorf("%v requests are counted as unknown, want 1", n)
			}
		})
	}
}

// A stream that was cut off may still land, so whoever comes next waits for it.
func TestNewerTokenWaitsForWhatItCut(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s), settle(300*time.Millisecond))
	old := w.dial()
	request := "PUT /a\nX-Fencing-Token: 4\nContent-Length: 10"
	old.send(request)
	old.raw("abc")
	s.took(t, 3)
	start := time.Now()
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
	if took := time.Since(start); took < 300*time.Millisecond {
		t.Errorf("the newer one passed after %v, within the settle time", took)
	}
	unknown := isUnknown
	unknown.retry = "1"
	old.gets(request, unknown)
	s.cutOff(t, "abc")
}

// Nor does a store that takes nothing keep a newer token waiting; and a claim
// cuts like a write.
func TestClaimCutsAStreamThatTheStoreDoesNotTake(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s))
	begun := make(chan struct{})
	s.stream = func(ctx context.Context, _ *http.Request, _ io.Reader) (*http.Response, fence.Outcome, error) {
		close(begun)
		<-ctx.Done()
		return nil, fence.Uncertain, context.Cause(ctx)
	}
	old := w.dial()
	request := "PUT /a\nX-Fencing-Token: 4\n\nabcdef"
	old.send(request)
	<-begun
	w.claims(`{"resource":"/a","token":"5"}`, `{"resources":[{"resource":"/a","covers":"object"}],"token":"5","ledger":"ledger-1"}`)
	unknown := isUnknown
	unknown.closes = false // there is little to read
	old.gets(request, unknown)
	old.asks("GET /a", read)
}

// Where policies do not enforce, no token cuts anything off.
func TestObservedStreamGoesOn(t *testing.T) {
	for _, p := range []fence.Policy{fence.Open, fence.Observe} {
		var s *fakeStreamer
		w := open(t, streaming(&s), policy(p))
		c := w.dial()
		request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 6"
		c.send(request)
		c.raw("abc")
		s.took(t, 3)
		w.says("PUT /a\nX-Fencing-Token: 6\n\nv6", stored)
		c.raw("def")
		c.gets(request, stored)
		w.saw("PUT /a", "PUT /a")
	}
}

// A body that does not come whole never looks whole to the store. Nobody knows
// what that makes of it, and the client is told so and why.
func TestStreamBreaksOff(t *testing.T) {
	short := BodyLimits{Idle: 300 * time.Millisecond}
	for _, c := range []struct {
		name, head, body string
		limits           BodyLimits
		half, drips      bool
		part, why        string
	}{
		{name: "shorter than declared", head: "Content-Length: 10", body: "short", half: true, part: "short", why: "ended early"},
		{name: "nothing of what was declared", head: "Content-Length: 10", half: true, why: "ended early"},
		{name: "a chunk ends early", head: "Transfer-Encoding: chunked", body: "a\r\nshort", half: true, part: "short", why: "ended early"},
		{name: "the last chunk is missing", head: "Transfer-Encoding: chunked", body: "5\r\nshort\r\n", half: true, part: "short", why: "ended early"},
		{name: "the last chunk ends early", head: "Transfer-Encoding: chunked", body: "5\r\nshort\r\n0\r\n", half: true, part: "short", why: "ended early"},
		{name: "nothing comes behind the last chunk", head: "Transfer-Encoding: chunked", body: "5\r\nshort\r\n0\r\n", limits: short, part: "short", why: "too slowly or stopped"},
		{name: "no chunk", head: "Transfer-Encoding: chunked", body: "not a chunk\r\n\r\n", why: "malformed"},
		{name: "a chunk without its end", head: "Transfer-Encoding: chunked", body: "2\r\nabc\r\n0\r\n\r\n", part: "ab", why: "malformed"},
		{name: "too large", head: "Transfer-Encoding: chunked", body: "4\r\nabcd\r\n0\r\n\r\n", limits: BodyLimits{Max: 3}, part: "abcd", why: "max_body"},
		{name: "a trailer that fences", head: "Transfer-Encoding: chunked", body: "1\r\nv\r\n0\r\nX-Fencing-Token: 6\r\n\r\n", part: "v", why: "trailer"},
		{name: "a trailer with an owner", head: "Transfer-Encoding: chunked", body: "1\r\nv\r\n0\r\nX_Fencing_Owner: S3cret\r\n\r\n", part: "v", why: "trailer"},
		{name: "nothing comes", head: "Content-Length: 10", limits: short, why: "too slowly or stopped"},
		{name: "nothing more comes", head: "Content-Length: 10", body: "abc", limits: short, part: "abc", why: "too slowly or stopped"},
		{name: "nothing comes, chunked", head: "Transfer-Encoding: chunked", limits: short, why: "too slowly or stopped"},
		{name: "too slow", head: "Content-Length: 1000", limits: BodyLimits{Idle: 300 * time.Millisecond, MinRate: 1000}, drips: true, part: "x…", why: "too slowly or stopped"},
		{name: "too long", head: "Content-Length: 1000", limits: BodyLimits{Idle: 300 * time.Millisecond, MinRate: 1, Total: 500 * time.Millisecond}, drips: true, part: "x…", why: "too slowly or stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s *fakeStreamer
			w := open(t, streaming(&s), limits(c.limits))
			conn := w.dial()
			request := "PUT /a\nX-Fencing-Token: 4\n" + c.head
			conn.raw(message(request) + c.body)
			if c.half {
				w.inFlight(0, 1) // before that it would be taken for gone
				conn.endSending()
			}
			if c.drips {
				end := make(chan struct{})
				defer close(end)
				go drip(conn, end)
			}
			a := conn.answer("PUT")
			a.is(request, closes(isUnknown, a.Close))
			if !strings.Contains(a.text, c.why) {
				t.Errorf("the answer does not say %q:\n%s", c.why, a.text)
			}
			w.inFlight(0, 0)
			w.saw()
			if strings.HasSuffix(c.part, "…") {
				c.part = strings.Repeat("x", int(s.taken.Load()))
			}
			s.cutOff(t, c.part)
			w.says("PUT /a\nX-Fencing-Token: 4\n\nv", stored) // the same token: the place is free
			w.saw("PUT /a")
		})
	}
}

func closes(w want, yes bool) want { w.closes = yes; return w }

// A client that leaves while its body is passed on frees its place.
func TestClientLeavesItsStream(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave func(*client)
	}{{"reset", (*client).reset}, {"end", func(c *client) { c.Close() }}} {
		t.Run(c.name, func(t *testing.T) {
			for _, begin := range []string{"", "abc", strings.Repeat("x", 1<<20)} {
				var s *fakeStreamer
				w := open(t, streaming(&s))
				conn := w.dial()
				conn.send("PUT /a\nX-Fencing-Token: 4\nContent-Length: 10000000")
				conn.raw(begin)
				s.took(t, len(begin))
				w.inFlight(0, 1)
				c.leave(conn)
				w.inFlight(0, 0)
				w.ended()
				w.saw()
				s.cutOff(t, begin)
				if n := w.gauge("fencegate_uncertain_total"); n != 1 {
					t.Errorf("%v writes are counted as uncertain, want 1", n)
				}
				if n := w.gauge("fencegate_requests_total{decision=unknown,operation=write}"); n != 1 {
					t.Errorf("%v requests are counted as unknown, want 1", n)
				}
			}
		})
	}
}

// upstream_timeout is for a store that stands still: before it has taken
// anything, in between, and when it does not answer.
func TestStoreThatDoesNotTakeAStream(t *testing.T) {
	for name, pieces := range map[string]int{"at once": 0, "in between": 1, "at the end": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *fakeStreamer
			w := open(t, streaming(&s), func(p *plan) { p.opts.UpstreamTimeout = 300 * time.Millisecond })
			s.stream = func(ctx context.Context, _ *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
				for range pieces {
					if _, err := io.ReadFull(body, make([]byte, 3)); err != nil {
						t.Error(err)
					}
				}
				<-ctx.Done()
				return nil, fence.Uncertain, context.Cause(ctx)
			}
			a := w.says("PUT /a\nX-Fencing-Token: 4\n\nabcdef", closes(isUnknown, false))
			if !strings.Contains(a.text, "upstream_timeout") {
				t.Errorf("the answer does not say why:\n%s", a.text)
			}
			w.inFlight(0, 0)
		})
	}
}

// However long it takes, what goes on is not cut off; and a store that is slow
// makes no slow client.
func TestStreamMayTakeLongerThanAnAnswer(t *testing.T) {
	t.Parallel()
	const pause = 100 * time.Millisecond
	var s *fakeStreamer
	w := open(t, streaming(&s), limits(BodyLimits{Idle: 5 * pause, MinRate: 50}), func(p *plan) { p.opts.UpstreamTimeout = 5 * pause })
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 4\nContent-Length: 150"
	c.send(request)
	for range 15 { // three times either limit
		time.Sleep(pause)
		c.raw("0123456789")
	}
	c.gets(request, stored)

	s.stream = func(ctx context.Context, _ *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
		for range 15 {
			time.Sleep(pause)
			if _, err := io.ReadFull(body, make([]byte, 3)); err != nil {
				t.Error(err)
			}
		}
		return storeSays(http.StatusCreated, "stored"), fence.Definite, nil
	}
	w.says("PUT /a\nX-Fencing-Token: 4\n\n"+strings.Repeat("abc", 15), stored)
}

// The token may come just as the body ends, or as it is answered; whoever wins,
// there is one answer, and what follows on the connection is not harmed.
func TestStreamIsCutAtItsEnd(t *testing.T) {
	rounds := harness.Scale(3000)
	var s *fakeStreamer
	w := open(t, streaming(&s))
	newer := w.dial()
	for i := range rounds {
		old := w.dial()
		request := "PUT /a\nX-Fencing-Token: " + fence.Token(2*i+1).String() + "\nContent-Length: 6"
		old.send(request)
		old.raw("abc")
		s.took(t, 3)
		newer.send("PUT /a\nX-Fencing-Token: " + fence.Token(2*i+2).String() + "\n\nnew")
		old.raw("def")
		if a := newer.answer("PUT"); a.StatusCode != 201 {
			t.Fatalf("newer: %d %s", a.StatusCode, a.text)
		}
		a := old.answer("PUT")
		if a.StatusCode != 201 && a.Header.Get(headerReason) != string(reasonUnknown) {
			t.Fatalf("older: %d %s", a.StatusCode, a.text)
		}
		if !a.Close { // then it must be as good as new
			old.asks("GET /b\nX-Fencing-Token: 1", read)
		}
		old.Close()
		s.taken.Store(0)
	}
}
