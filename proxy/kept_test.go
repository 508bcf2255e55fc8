package proxy

import (
	"testing"
	"time"

	"fencegate/fence"
)

// A body that arrives in pieces leaves no deadline or watcher behind that
// harms what follows on its connection.
func TestConnectionIsGoodAfterASlowBody(t *testing.T) {
	for _, p := range []fence.Policy{fence.Open, fence.Observe, fence.Adopt, fence.Require} {
		t.Run(p.String(), func(t *testing.T) {
			w := open(t, policy(p))
			c := w.dial()
			for range 3 {
				request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 6"
				c.send(request)
				c.raw("abc")
				w.received(3)
				c.raw("def")
				c.gets(request, stored)
				w.saw("PUT /a")
				c.asks("GET /a\nX-Fencing-Token: 5", read)
				c.asks("PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n", stored)
				w.saw("GET /a", "PUT /a")
			}
		})
	}
}

// The limit on taking one answer is none on the next.
func TestDeadlineEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	w := open(t, limits(BodyLimits{Idle: 500 * time.Millisecond}))
	c := w.dial()
	c.asks("PUT /a\nX-Fencing-Token: 5\n\nv", stored)
	time.Sleep(600 * time.Millisecond) // no event tells that a deadline was not kept
	c.asks("GET /a", read)
	c.asks("GET /a\nX-Fencing-Token: 5", read)
}

// While a write that waits or runs takes longer than a body may, its client is
// not taken for gone.
func TestBodyDeadlineEndsWithTheBody(t *testing.T) {
	t.Parallel()
	w := open(t, limits(BodyLimits{Idle: 500 * time.Millisecond, MinRate: 1}))
	release := w.occupy("/a")
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 6"
	c.send(request)
	c.raw("abc")
	w.received(2 + 3)
	c.raw("def")
	w.inFlight(1, 1)
	time.Sleep(600 * time.Millisecond) // no event tells that a deadline was not kept
	release()
	c.gets(request, stored)
	c.asks("GET /a\nX-Fencing-Token: 5", read)
}
