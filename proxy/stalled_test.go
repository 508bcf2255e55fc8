package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// soon is how long anybody may wait for somebody who has stalled: five times
// what it is meant to be, and a fraction of the limits on stalled clients.
const soon = 5 * time.Second

// passes has a client of its own send a request, which must be answered soon.
func (w *world) passes(request string, want want) {
	w.t.Helper()
	c := w.dial()
	start := time.Now()
	c.asks(request, want)
	if took := time.Since(start); took > soon {
		w.t.Errorf("%s\nwaited for %v", request, took)
	}
	c.Close()
}

// Clients that stall while they send hold nothing that others need: with the
// same token or a higher one they pass at once.
func TestStalledUploadHoldsNothing(t *testing.T) {
	for _, c := range []struct{ name, head, sent string }{
		{"in its body", "Content-Length: 10", "abc"},
		{"in a large body", "Content-Length: 1073741824", strings.Repeat("x", 2<<20)},
		{"in a chunk", "Transfer-Encoding: chunked", "30\r\nabc"},
		{"before its body", "Content-Length: 10", ""},
		{"asked for its body", "Content-Length: 10\nExpect: 100-continue", ""},
	} {
		for _, stages := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", store stages ", stages), func(t *testing.T) {
				t.Parallel()
				var s *fakeStager
				var changes []func(*plan)
				if stages {
					changes = append(changes, staging(&s))
				}
				w := open(t, changes...)
				stalled := w.dial()
				request := "PUT /a\nX-Fencing-Token: 4\n" + c.head
				stalled.send(request)
				stalled.raw(c.sent)
				w.inFlight(1, 0)
				w.passes("PUT /a\nX-Fencing-Token: 4\n\nv4", stored)
				w.passes("GET /a\nX-Fencing-Token: 4", read)
				w.inFlight(1, 0)
				w.passes("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
				w.inFlight(0, 0)
				w.saw("PUT /a", "GET /a", "PUT /a")
			})
		}
	}
}

// Clients that do not read their answer hold no permit meanwhile.
func TestStalledReaderHoldsNothing(t *testing.T) {
	large := holed(t, 1<<30)
	for name, request := range map[string]string{
		"a read":        "GET /a",
		"a fenced read": "GET /a\nX-Fencing-Token: 4",
		"a write":       "PUT /a\nX-Fencing-Token: 4\n\nv4",
		"a stream":      "PUT /streamed/a\nX-Fencing-Token: 4\n\nv4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *fakeStreamer
			w := open(t, streaming(&s), func(p *plan) {
				p.opts.Rest.Stream = false
				p.opts.Routes = []Route{{Path: "/streamed", Policy: fence.Require, Stream: true}}
			})
			w.store.read = fromFile(large)
			w.answers(200, strings.Repeat("x", 64<<20))
			stalled := w.dial()
			stalled.send(request)
			if _, err := stalled.in.Peek(1); err != nil {
				t.Fatal(err)
			}
			if n := w.serving.Load(); n != 1 {
				t.Fatalf("%d requests are being answered, want 1", n)
			}
			w.inFlight(0, 0)
			w.answers(201, "stored")
			target := strings.Fields(request)[1]
			w.passes("PUT "+target+"\nX-Fencing-Token: 4\n\nv4", stored)
			w.passes("PUT "+target+"\nX-Fencing-Token: 5\n\nv5", stored)
			if n := w.serving.Load(); n != 1 {
				t.Errorf("%d requests are being answered, want 1 still", n)
			}
		})
	}
}

// Heads that do not end hold nothing either.
func TestStalledHeadsHoldNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 50 {
		c := w.dial()
		head := message("PUT /a\nX-Fencing-Token: 9\nContent-Length: 10")
		c.raw(head[:len(head)-1-i])
	}
	w.passes("PUT /a\nX-Fencing-Token: 4\n\nv4", stored)
	w.passes("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
	if s := w.gate.State(); s.Begun+s.Waiting != 0 {
		t.Errorf("%d writes have begun and %d requests wait", s.Begun, s.Waiting)
	}
	w.saw("PUT /a", "PUT /a")
}

// A stalled stream has begun, which is its price: it holds its object against
// the same token for Idle, and against a higher one not at all.
func TestStalledStream(t *testing.T) {
	for _, c := range []struct{ name, head, sent string }{
		{"before its body", "Content-Length: 10", ""},
		{"in its body", "Content-Length: 10", "abc"},
		{"in a chunk", "Transfer-Encoding: chunked", "30\r\nabc"},
	} {
		t.Run(c.name+", higher token", func(t *testing.T) {
			t.Parallel()
			var s *fakeStreamer
			w := open(t, streaming(&s))
			stalled := w.dial()
			request := "PUT /a\nX-Fencing-Token: 4\n" + c.head
			stalled.send(request)
			stalled.raw(c.sent)
			w.inFlight(0, 1)
			w.passes("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
			stalled.gets(request, isUnknown)
		})
		t.Run(c.name+", same token", func(t *testing.T) {
			t.Parallel()
			var s *fakeStreamer
			const idle = 500 * time.Millisecond
			w := open(t, streaming(&s), limits(BodyLimits{Idle: idle}))
			stalled := w.dial()
			request := "PUT /a\nX-Fencing-Token: 4\n" + c.head
			stalled.send(request)
			stalled.raw(c.sent)
			w.inFlight(0, 1)
			w.passes("PUT /a\nX-Fencing-Token: 4\n\nnext", stored)
			stalled.gets(request, isUnknown)
		})
	}
}

// Ten thousand uploads that break off in all ways leave nothing behind: no
// request, permit, entry, byte, file, goroutine or path.
func TestAbortedUploadsLeaveNothing(t *testing.T) {
	for name, change := range map[string]func(*plan){
		"staged":   func(*plan) {},
		"streamed": func(p *plan) { p.store, p.opts.Rest.Stream = &fakeStreamer{fakeStore: p.fake}, true },
	} {
		t.Run(name, func(t *testing.T) {
			const cache = 64
			w := open(t, change, settle(50*time.Millisecond), func(p *plan) { p.gate.CacheSize = cache })
			n := harness.Scale(5000)
			for i := range n {
				c := w.dial()
				c.send(fmt.Sprintf("PUT /%d/a\nX-Fencing-Token: %d\n%s", i%300, i+1, []string{
					"Content-Length: 10", "Content-Length: 10000000", "Transfer-Encoding: chunked", "Content-Length: 5\nExpect: 100-continue",
				}[i%4]))
				switch i % 3 {
				case 1:
					c.raw("30\r\nabc")
				case 2:
					if i%4 == 1 {
						c.raw(strings.Repeat("x", memoryBody+memoryBody/2))
					}
				}
				if i%2 == 0 {
					c.reset()
				} else {
					c.Close()
				}
			}
			harness.Eventually(t, "everything to end", func() (any, bool) {
				s := w.gate.State()
				return s, w.serving.Load() == 0 && s.Waiting == 0 && s.Begun == 0 && s.Settling == 0
			})
			if s := w.gate.State(); s.Paths > cache {
				t.Errorf("%d paths are in memory, want at most %d", s.Paths, cache)
			}
			w.received(0)
			if memory := w.proxy.spool.memory.used.Load(); memory != 0 {
				t.Errorf("%d bytes of memory stay reserved", memory)
			}
			w.says("PUT /0/a\nX-Fencing-Token: 1000000\n\nv", stored)
		})
	}
}
