package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/fence"
	"fencegate/proxy/protocol"
	"fencegate/store/memory"
)

// What has arrived of a body is at the store before the rest has, and nothing
// of it is kept; the connection is as good as new after it.
func TestStreamPassesOnWhatArrives(t *testing.T) {
	for _, p := range []fence.Policy{fence.Open, fence.Observe, fence.Adopt, fence.Require} {
		t.Run(p.String(), func(t *testing.T) {
			var s *fakeStreamer
			w := open(t, policy(p), streaming(&s), limits(BodyLimits{Quota: 1}))
			c := w.dial()
			sized := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 6"
			c.send(sized)
			c.raw("abc")
			s.took(t, 3)
			w.inFlight(0, 1)
			w.received(0)
			c.raw("def")
			c.gets(sized, stored)
			chunked := "PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked"
			c.send(chunked)
			c.raw("3\r\nghi\r\n")
			s.took(t, 9)
			c.raw("3\r\njkl\r\n0\r\n\r\n")
			c.gets(chunked, stored)
			expecting := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 3\nExpect: 100-continue"
			c.send(expecting)
			c.proceeds()
			c.raw("mno")
			c.gets(expecting, stored)
			c.asks("GET /a\nX-Fencing-Token: 5", read)
			var bodies []string
			for _, r := range w.store.requests() {
				bodies = append(bodies, r.body)
			}
			if got := strings.Join(bodies, " "); got != "abcdef ghijkl mno " {
				t.Errorf("the store was sent %q", got)
			}
			s.cutOff(t)
			if n := w.gauge("fencegate_uncertain_total"); n != 0 {
				t.Errorf("%v writes are counted as uncertain", n)
			}
		})
	}
}

// Only what stores a body is streamed.
func TestWhatIsNotStreamed(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s))
	s.stream = func(context.Context, *http.Request, io.Reader) (*http.Response, fence.Outcome, error) {
		t.Error("it was streamed")
		return nil, fence.NotSent, nil
	}
	w.says("DELETE /a\nX-Fencing-Token: 5\n\nbody", stored)
	w.says("PUT /a\nX-Fencing-Token: 5\n\n", stored)
	w.says("GET /a\nX-Fencing-Token: 5\n\nbody", closing(read))
	w.saw("DELETE /a", "PUT /a", "GET /a")
}

// One route streams while another stages.
func TestStreamIsARoutesOwn(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s), func(p *plan) {
		p.opts.Rest.Stream = false
		p.opts.Routes = []Route{{Path: "/large", Policy: fence.Require, Stream: true}}
	})
	w.says("PUT /large/a\nX-Fencing-Token: 5\n\nabc", stored)
	s.took(t, 3)
	w.says("PUT /a\nX-Fencing-Token: 5\n\nabc", stored)
	s.took(t, 3)
	w.saw("PUT /large/a", "PUT /a")
}

// A body that waits for its turn is not asked for, and not begun.
func TestStreamWaitsForItsTurn(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s))
	release := w.occupy("/a") // with token 4
	s.took(t, 2)
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 4\nContent-Length: 3\nExpect: 100-continue"
	c.send(request)
	w.inFlight(1, 1)
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Peek(1); !isTimeout(err) {
		t.Fatalf("it is answered before its turn: %v", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	late := w.dial()
	stale := "PUT /a\nX-Fencing-Token: 3\nContent-Length: 1000000"
	late.send(stale)
	late.gets(stale, want{status: 412, reason: fence.StaleToken, resource: "/a", token: "3", highest: "4", closes: true})
	s.took(t, 2)
	release()
	c.proceeds()
	c.raw("2nd")
	c.gets(request, stored)
	w.saw("PUT /a", "PUT /a")
}

// Who is overtaken before its turn is stale, and nothing of it was sent.
func TestStreamIsOvertakenBeforeItsTurn(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s))
	h := w.hold("/a")
	begun, waits, newer := w.dial(), w.dial(), w.dial()
	first := "DELETE /a\nX-Fencing-Token: 4" // what has begun and is no stream is not cut off
	begun.send(first)
	<-h.arrived
	second := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 1000000"
	waits.send(second)
	waits.raw("abc")
	w.inFlight(1, 1)
	third := "PUT /a\nX-Fencing-Token: 6\n\nv6"
	newer.send(third)
	waits.gets(second, want{status: 412, reason: fence.StaleToken, resource: "/a", token: "5", highest: "6", closes: true})
	w.inFlight(1, 1)
	s.took(t, 0)
	close(h.release)
	begun.gets(first, stored)
	newer.gets(third, stored)
	w.saw("DELETE /a", "PUT /a")
	s.cutOff(t)
}

// What a head tells to be too large is refused as ever; there is no quota for
// what is not kept.
func TestStreamIsRefusedFromItsHead(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s), limits(BodyLimits{Max: 1000, Quota: 10}))
	w.says("PUT /a\nX-Fencing-Token: 5\nContent-Length: 1001\n\n"+strings.Repeat("x", 1001),
		want{status: 413, reason: reasonBodyLarge, resource: "/a", token: "5"})
	w.says("PUT /a\nX-Fencing-Token: 4\n\n"+strings.Repeat("x", 1000), stored) // nothing was raised
	w.says("DELETE /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", 11),
		want{status: 507, reason: reasonSpoolFull, resource: "/a", token: "5"})
	w.saw("PUT /a")
}

// An answer that comes before the body has is passed on at once, even while the
// client is waited for.
func TestStreamIsAnsweredEarly(t *testing.T) {
	for _, c := range []struct {
		head   string
		closes bool
	}{{"Content-Length: 6", false}, {"Content-Length: 1000000", true}} {
		var s *fakeStreamer
		w := open(t, streaming(&s))
		s.stream = func(_ context.Context, r *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
			if _, err := io.ReadFull(body, make([]byte, 3)); err != nil {
				t.Error(err)
			}
			s.note(r, "")
			return storeSays(http.StatusInsufficientStorage, "full"), fence.Uncertain, nil
		}
		conn := w.dial()
		request := "PUT /a\nX-Fencing-Token: 5\n" + c.head
		conn.send(request)
		conn.raw("abc")
		conn.gets(request, want{status: 507, body: "full", closes: c.closes})
		w.inFlight(0, 0)
		if !c.closes { // the rest is read, and no newer token harms it
			w.claims(`{"resource":"/a","token":"6"}`, `{"resources":[{"resource":"/a","covers":"object"}],"token":"6","ledger":"ledger-1"}`)
			conn.raw("def")
			conn.asks("GET /a\nX-Fencing-Token: 6", read)
		}

		// The store does not wait for a client that has stopped.
		s.stream = func(_ context.Context, _ *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
			blocked, ended := make(chan struct{}), make(chan error)
			go func() {
				close(blocked)
				_, err := body.Read(make([]byte, 3))
				ended <- err
			}()
			<-blocked
			body.(io.Closer).Close()
			if err := <-ended; err == nil {
				t.Error("reading went on after Close")
			}
			if _, err := body.Read(make([]byte, 3)); err == nil {
				t.Error("reading begins after Close")
			}
			return storeSays(http.StatusInsufficientStorage, "full"), fence.Uncertain, nil
		}
		conn = w.dial()
		conn.send(strings.ReplaceAll(request, "5", "7"))
		a := conn.answer("PUT")
		a.is(request, want{status: 507, body: "full", closes: a.Close}) // it depends on who was first
	}
}

// Of what could not be handed to the store at all that is said.
func TestStreamIsNotSent(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s), settle(time.Hour), limits(BodyLimits{Idle: 300 * time.Millisecond}))
	s.stream = func(context.Context, *http.Request, io.Reader) (*http.Response, fence.Outcome, error) {
		return nil, fence.NotSent, errors.New("connection refused")
	}
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", want{status: 502, reason: reasonUnreachable, resource: "/a", token: "5"})
	s.stream = func(_ context.Context, _ *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
		_, err := body.Read(make([]byte, 1))
		return nil, fence.NotSent, err
	}
	w.says("PUT /a\nX-Fencing-Token: 5\nContent-Length: 10", want{status: 408, reason: reasonBodyTimeout, resource: "/a", token: "5", closes: true})
	s.stream = nil
	w.says("PUT /a\nX-Fencing-Token: 6\n\nv", stored) // no doubt is left
	s.stream = func(context.Context, *http.Request, io.Reader) (*http.Response, fence.Outcome, error) { panic("a bug") }
	c := w.dial()
	c.send("PUT /b\nX-Fencing-Token: 5\n\nv")
	c.cut()
	w.ended()
	if n := w.gate.State().Settling; n != 1 {
		t.Errorf("after a bug %d writes are in doubt, want 1", n)
	}
}

func TestStreamNeedsAStreamer(t *testing.T) {
	gate, err := fence.Start(t.Context(), memory.New(fence.Meta{Clean: true}), fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []Options{
		{Rest: Route{Stream: true}},
		{Routes: []Route{{Path: "/a", Name: "default-2", Stream: true}}},
		{Routes: []Route{{Path: "/a", Name: "default-2", Stream: true, Upstream: newFakeStore()}}},
	} {
		opts.Metrics = NewMetrics(prometheus.NewRegistry())
		if _, err := New(gate, protocol.Plain{}, newFakeStore(), opts); err == nil || !strings.Contains(err.Error(), "route default") {
			t.Errorf("New: %v, want an error that names the route", err)
		}
	}
	if err := gate.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}
