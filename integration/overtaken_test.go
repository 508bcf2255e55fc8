package integration

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// A is stuck in the middle of an upload when B writes. Shown: liveness, B does
// not wait for A's body; and S1, what A still sends has no effect.
func TestUploadIsOvertaken(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	a, b := stampOf(7, "a"), stampOf(8, "b")
	u := startUpload(s, report, a)
	u.arrive(t, s, "from A, half")
	says(t, s, "201", "PUT", report, b, "from B")
	// The answer need not wait for the rest, which may find nobody to read it.
	_, _ = io.WriteString(u.body, " and whole")
	u.body.Close()
	if said := <-u.answer; said != "412 stale_token" {
		t.Errorf("the overtaken upload is answered %s", said)
	}
	holds(t, s, report, "from B")
	isSwept(t, s)
	if n := s.Metrics().Counter("fencegate_rejections_total", "reason=stale_token"); n != 1 {
		t.Errorf("%v refusals are counted, want 1", n)
	}
}

// A uploads 20 MB at 1 MB/s over a network with a store behind it when B writes.
// Shown: liveness, B is through at once; A is told in the middle of its upload,
// and the store has seen no byte of it.
func TestSlowUploadIsOvertaken(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	store, s := overFakeStore(t)
	slow := harness.NewLine(t, strings.TrimPrefix(s.URL(), "http://"))
	slow.Rate(harness.Up, 1<<20)
	a := dialAddr(t, slow.Addr())
	a.send(fmt.Sprintf("PUT %s HTTP/1.1\nHost: x\nX-Fencing-Token: 33\nContent-Length: %d\n\n", report, size))
	var sent atomic.Int64
	over := make(chan struct{})
	go func() {
		defer close(over)
		for piece := make([]byte, 32<<10); sent.Load() < size; sent.Add(int64(len(piece))) {
			if _, err := a.Write(piece); err != nil {
				return // refused, and closed
			}
		}
	}()
	harness.Eventually(t, "some of the upload to arrive", func() (any, bool) {
		n := s.Metrics().Gauge("fencegate_spool_bytes")
		return n, n >= 1<<20
	})
	began := time.Now()
	says(t, s, "201", "PUT", report, stampOf(34, "b"), "from B")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("B's write took %v beside A's upload", took)
	}
	a.says("412 stale_token", "PUT")
	a.Close()
	<-over
	if n := sent.Load(); n >= size {
		t.Errorf("A was told only after it had sent all %d bytes", n)
	}
	if n := store.Received(report); n != int64(len("from B")) {
		t.Errorf("the store has seen %d bytes, want B's", n)
	}
	sawOnce(t, store, "PUT", report)
	tookEffect(t, store, "PUT "+report+" from B")
}

// The same where bodies are streamed: half of A's is at the store already.
// Shown: A is cut off and told that nobody knows, and B is not sent before
// settle is over; what the store got of A has no effect, since it takes bodies
// whole or not at all.
func TestStreamIsOvertaken(t *testing.T) {
	t.Parallel()
	const settle = time.Second
	store, s := overFakeStore(t, "--settle", settle.String(), "--body", "stream")
	a := dial(t, s)
	a.send(fmt.Sprintf("PUT %s HTTP/1.1\nHost: x\nX-Fencing-Token: 33\nContent-Length: 1000\n\nfrom A, half", report))
	store.AwaitRequest("half of A's body", func(r harness.Request) bool { return r.Received > 0 })
	overtaken := harness.Monotonic()
	b := begins(t, s, "PUT", report, stampOf(34, "b"), "from B")
	a.says("504 outcome_unknown", "PUT")
	b.says("201")
	tookEffect(t, store, "PUT "+report+" from B")
	requests := requestsFor(store, report)
	if len(requests) != 2 || requests[0].Whole != 0 {
		t.Fatalf("the store got %+v, want half of A's and B's", requests)
	}
	if waited := requests[1].At - overtaken; waited < settle {
		t.Errorf("B's write was sent %v after it came, before settle was over", waited)
	}
}
