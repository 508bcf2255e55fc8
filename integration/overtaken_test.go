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
