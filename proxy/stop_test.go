package proxy

import (
	"context"
	"errors"
	"sync"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// While fencegate stops, what has begun ends, nothing new arrives, and reads
// without a token pass.
func TestDraining(t *testing.T) {
	w := open(t)
	release := w.occupy("/a")
	staging := w.dial()
	upload := "PUT /b\nX-Fencing-Token: 5\nContent-Length: 10"
	staging.send(upload)
	staging.raw("abc")
	w.received(2 + 3)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- w.gate.Stop(ctx) }()
	harness.Eventually(t, "draining", func() (any, bool) { s := w.gate.State(); return s, s.Draining })

	draining := want{status: 503, reason: fence.Draining, resource: "/c", token: "5"}
	w.says("PUT /c\nX-Fencing-Token: 5\n\nv", draining)
	w.says("DELETE /c\nX-Fencing-Token: 5", draining)
	w.says("GET /c\nX-Fencing-Token: 5", draining)
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/c","token":"5"}`, draining)
	w.says("GET /c", read)
	w.saw("PUT /a", "GET /c")
	release()
	cancel() // the drain limit: what has not begun is refused, and its upload stopped
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	staging.gets(upload, want{status: 503, reason: fence.Draining, resource: "/b", token: "5", closes: true})
	w.says("GET "+marksPath+"?resource=/a", want{status: 503, reason: fence.LedgerUnavailable, resource: "/a"})
	w.saw()
	if meta, err := w.ledger.Reopen().Meta(); err != nil || !meta.Clean {
		t.Errorf("the ledger was closed clean: %v, %v", meta.Clean, err)
	}
}

// An upload in progress is stopped when the ledger fails, and nothing protected
// passes from then on.
func TestLedgerFailsMeanwhile(t *testing.T) {
	fail := make(chan struct{})
	w := open(t, onCommit(func(rows []fence.Row) error {
		for _, row := range rows {
			if row.Path.Key() == "/bad" {
				<-fail
				return errors.New("disk on fire")
			}
		}
		return nil
	}))
	staging := w.dial()
	upload := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 10"
	staging.send(upload)
	staging.raw("abc")
	w.received(3)
	w.recorded("/a", 5)
	bad := w.dial()
	request := "PUT /bad\nX-Fencing-Token: 5\n\nv"
	bad.send(request)
	w.inFlight(2, 0)  // no byte goes to the store before the mark is durable
	w.received(3 + 1) // else it is its upload that ends
	w.saw()
	close(fail)
	failed := want{status: 503, reason: fence.LedgerUnavailable, resource: "/bad", token: "5"}
	bad.gets(request, failed)
	failed.resource, failed.closes = "/a", true
	staging.gets(upload, failed)
	failed.closes = false
	w.says("GET /a\nX-Fencing-Token: 5", failed)
	w.says("GET /a", read)
	w.saw("GET /a")
	if n := w.gauge("fencegate_ledger_failed"); n != 1 {
		t.Errorf("fencegate_ledger_failed is %v, want 1", n)
	}
}

func TestTooManyInFlight(t *testing.T) {
	w := open(t, func(p *plan) { p.gate.MaxPermits = 1 })
	release := w.occupy("/a")
	w.says("PUT /b\nX-Fencing-Token: 5\n\nv", want{status: 503, reason: fence.Busy, resource: "/b", token: "5"})
	release()
	w.inFlight(0, 0)
	w.says("PUT /b\nX-Fencing-Token: 1\n\nv", stored) // nothing was raised
	w.saw("PUT /a", "PUT /b")
}

// A look-up that ends because its client has left is no failure of the ledger.
func TestClientGoneDuringTheLookUp(t *testing.T) {
	w := open(t, watching)
	entered, leave := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(leave) })
	t.Cleanup(end)
	w.ledger.OnBelow = func(fence.Resource) error {
		close(entered)
		<-leave
		return context.Canceled
	}
	c := w.dial()
	c.send("DELETE /d\nX-Fencing-Token: 5")
	<-entered
	c.reset()
	harness.Eventually(t, "the client to be missed", func() (any, bool) { n := w.left.Load(); return n, n == 1 })
	end()
	w.ended()
	if n := w.gauge("fencegate_rejections_total{reason=ledger_unavailable,route=default}"); n != 0 {
		t.Errorf("%v refusals are counted as ledger_unavailable, want 0", n)
	}
	w.saw()
}
