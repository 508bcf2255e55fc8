package proxy

import (
	"testing"
	"time"
)

// A head that comes byte by byte is cut off.
func TestHeadThatTrickles(t *testing.T) {
	t.Parallel()
	w := open(t, func(p *plan) { p.opts.HeadTimeout = 300 * time.Millisecond })
	c := w.dial()
	c.raw("GET /a HTTP/1.1\r\nHost: fence.test\r\nX-Slow: ")
	end := make(chan struct{})
	defer close(end)
	go drip(c, end)
	c.cut()
	w.saw()
}

// Clients beyond the limit wait until another one leaves.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	w := open(t, func(p *plan) { p.connections = 2 })
	first, second, third := w.dial(), w.dial(), w.dial()
	first.asks("GET /1", read)
	second.asks("GET /2", read)
	third.send("GET /3")
	if err := third.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := third.in.Peek(1); !isTimeout(err) {
		t.Fatalf("the third is served: %v", err)
	}
	if err := third.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	w.saw("GET /1", "GET /2")
	first.Close()
	third.gets("GET /3", read)
	// What was taken over from the server gives its place back too.
	much := "PUT /a\nContent-Length: 1073741824"
	third.asks(much, closing(missing))
	w.dial().asks("GET /4", read)
	w.saw("GET /3", "GET /4")
}

// Our end is closed first, while the client may still send: one that waits for
// the end of the answer must not wait until we stop reading.
func TestOurEndIsClosedFirst(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.dial()
	start := time.Now()
	c.send("PUT /a\nX-Fencing-Token: x\nContent-Length: 1073741824")
	c.gets("PUT /a", want{status: 400, reason: reasonTokenMalformed, resource: "/a", closes: true})
	if took := time.Since(start); took >= lingerTime {
		t.Errorf("the end came after %s, when reading had ended", took)
	}
}
