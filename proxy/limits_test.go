package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

func TestBodyTooLarge(t *testing.T) {
	t.Parallel()
	w := open(t, limits(BodyLimits{Max: 1000}))
	large := want{status: 413, reason: reasonBodyLarge, resource: "/a", token: "5"}
	w.says("PUT /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", 1001), large)
	w.says("DELETE /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", 1001), large)
	w.says("PUT /a\nX-Fencing-Token: 5\nContent-Length: 1099511627776", closing(large))
	w.says("PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n3e9\r\n"+strings.Repeat("x", 1001)+"\r\n0\r\n\r\n", closing(large))
	w.saw()
	w.says("PUT /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", 1000), stored)
	w.says("PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n3e8\r\n"+strings.Repeat("x", 1000)+"\r\n0\r\n\r\n", stored)
	w.saw("PUT /a", "PUT /a")
	// Nothing was raised by what was refused from its head.
	w.says("PUT /b\nX-Fencing-Token: 9\n\n"+strings.Repeat("x", 1001), want{status: 413, reason: reasonBodyLarge, resource: "/b", token: "9"})
	w.says("PUT /b\nX-Fencing-Token: 8\n\nv", stored)
}

// The question of a read has a body too, which the store asks for: what is wrong
// with it is told as for a write.
func TestBodyOfAReadTooLarge(t *testing.T) {
	t.Parallel()
	w := open(t, limits(BodyLimits{Max: 1000}))
	w.store.read = func(_ http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return fence.NotSent, fmt.Errorf("taking in the question: %w", err)
	}
	w.says("OPTIONS /a\n\n"+strings.Repeat("x", 1001), want{status: 413, reason: reasonBodyLarge, resource: "/a", closes: true})
}

// Without a spool directory bodies that are not to be stored have to fit into
// memory.
func TestBodyOfADelete(t *testing.T) {
	t.Parallel()
	var s *fakeStager
	w := open(t, staging(&s), func(p *plan) { p.opts.SpoolDir = "" })
	w.says("DELETE /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", memoryBody), stored)
	w.says("DELETE /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", memoryBody+1000),
		want{status: 413, reason: reasonBodyLarge, resource: "/a", token: "5", closes: true})
	w.saw("DELETE /a")
	s.wants(t, 0, 0, 0)
}

// The quota counts bytes that have arrived and are still kept.
func TestSpoolFull(t *testing.T) {
	t.Parallel()
	w := open(t, limits(BodyLimits{Quota: 1000}))
	full := want{status: 507, reason: reasonSpoolFull, resource: "/a", token: "5"}
	w.says("PUT /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", 1001), full)
	w.says("PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n3e9\r\n"+strings.Repeat("x", 1001)+"\r\n0\r\n\r\n", closing(full))

	half := "PUT /half\nX-Fencing-Token: 5\nContent-Length: 1000"
	uploading := w.dial()
	uploading.send(half)
	uploading.raw(strings.Repeat("x", 600)) // counts for 600, not for the 1000 announced
	w.received(600)
	w.says("PUT /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", 400), stored)
	w.received(600)
	w.says("PUT /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", 401), full)
	claim := `{"resource":"/a","token":"5","client":"` + strings.Repeat("x", 400) + `"}`
	w.says("POST "+claimsPath+"\n\n"+claim, want{status: 507, reason: reasonSpoolFull, closes: true})

	// A write that waits in the store still keeps its body.
	h := w.hold("/kept")
	keeping := w.dial()
	kept := "PUT /kept\nX-Fencing-Token: 5\n\n" + strings.Repeat("x", 400)
	keeping.send(kept)
	<-h.arrived
	w.received(1000)
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", full)
	close(h.release)
	keeping.gets(kept, stored)
	w.received(600)
	uploading.raw(strings.Repeat("x", 400))
	uploading.gets(half, stored)
	w.received(0)
	w.saw("PUT /a", "PUT /kept", "PUT /half")
}

func TestBodyTimeouts(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits BodyLimits
		head   string
		drip   bool // a byte every now and then
	}{
		{"nothing comes", BodyLimits{Idle: 300 * time.Millisecond}, "Content-Length: 1000", false},
		{"nothing comes, large", BodyLimits{Idle: 300 * time.Millisecond}, "Content-Length: 1000000000", false},
		{"nothing comes, chunked", BodyLimits{Idle: 300 * time.Millisecond}, "Transfer-Encoding: chunked", false},
		{"too slow", BodyLimits{Idle: 300 * time.Millisecond, MinRate: 1000}, "Content-Length: 1000", true},
		{"too long", BodyLimits{Idle: 300 * time.Millisecond, MinRate: 1, Total: 500 * time.Millisecond}, "Content-Length: 1000", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t, limits(c.limits))
			conn := w.dial()
			request := "PUT /a\nX-Fencing-Token: 5\n" + c.head
			conn.send(request)
			if c.drip {
				end := make(chan struct{})
				defer close(end)
				go drip(conn, end)
			}
			conn.gets(request, want{status: 408, reason: reasonBodyTimeout, resource: "/a", token: "5", closes: true})
			w.ended()
			w.saw()
			w.says("PUT /a\nX-Fencing-Token: 5\n\nv", stored) // the slot is free
		})
	}
}

// drip sends a byte every 20 ms until end is closed or the connection is.
func drip(c *client, end <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
		}
	}
}

// A body that keeps coming is taken, however it is cut into chunks.
func TestSlowBodyIsTaken(t *testing.T) {
	for _, c := range []struct{ head, first, last string }{
		{"Content-Length: 16", "", ""},
		{"Transfer-Encoding: chunked", "10\r\n", "\r\n0\r\n\r\n"},
	} {
		t.Run(c.head, func(t *testing.T) {
			t.Parallel()
			w := open(t, limits(BodyLimits{Idle: time.Second, MinRate: 2}))
			conn := w.dial()
			request := "PUT /a\nX-Fencing-Token: 5\n" + c.head
			conn.send(request)
			conn.raw(c.first)
			for range 8 {
				time.Sleep(250 * time.Millisecond) // twice Idle altogether
				conn.raw("xx")
			}
			conn.raw(c.last)
			conn.gets(request, stored)
		})
	}
}

// A client that does not take its answer is dropped.
func TestAnswerThatIsNotTaken(t *testing.T) {
	t.Parallel()
	w := open(t, limits(BodyLimits{Idle: 500 * time.Millisecond}))
	huge := strings.Repeat("x", 64<<20)
	w.answers(200, huge)
	c := w.dial()
	c.send("PUT /a\nX-Fencing-Token: 5\n\nv")
	harness.Eventually(t, "the write", func() (any, bool) { n := w.store.count(); return n, n == 1 })
	w.ended()
	w.received(0)
	w.answers(200, "small")
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", want{status: 200, body: "small"})
}

// What the ledger takes to look a row up is not the client's time.
func TestSlowLedgerMakesNoSlowClient(t *testing.T) {
	t.Parallel()
	const idle = 300 * time.Millisecond
	w := open(t, limits(BodyLimits{Idle: idle}))
	w.ledger.OnRead = func([]fence.Key) error { time.Sleep(2 * idle); return nil } // the slow ledger that this is about
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 6"
	c.send(request)
	c.raw("abc")
	w.received(3)
	c.raw("def")
	c.gets(request, stored)
}
