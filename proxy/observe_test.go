package proxy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// Under observe nothing is refused or waits, not even for a failed ledger or
// after an unclean stop, and all is told.
func TestObserveNeverStops(t *testing.T) {
	w := open(t, policy(fence.Observe), settle(time.Hour), unclean)
	h := w.hold("/a")
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 9\n\nv9"
	c.send(request)
	<-h.arrived
	second := w.dial()
	older := "PUT /a\nX-Fencing-Token: 5\n\nv5"
	second.send(older)
	<-h.arrived // beside the other
	close(h.release)
	c.gets(request, stored)
	second.gets(older, want{status: 201, observed: fence.StaleToken})
	w.says("DELETE /a\nX-Fencing-Token: 5", want{status: 201, observed: fence.StaleToken})
	w.saw("PUT /a", "PUT /a", "DELETE /a")
	w.ended()
	if n := w.gauge("fencegate_requests_total{decision=observed,operation=write}"); n != 2 {
		t.Errorf("%v writes are counted as observed, want 2", n)
	}
	if n := w.gauge("fencegate_rejections_total{reason=stale_token,route=default}"); n != 0 {
		t.Errorf("%v refusals are counted, want 0", n)
	}
	w.uncertainAt("/u") // an outcome is unknown under any policy
	w.says("PUT /u\nX-Fencing-Token: 5\n\nv", want{status: 504, reason: reasonUnknown, resource: "/u", token: "5", retry: "3600"})
}

func TestObserveWithoutALedger(t *testing.T) {
	w := open(t, policy(fence.Observe))
	w.ledger.OnRead = func([]fence.Key) error { return errors.New("I/O error") }
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", want{status: 201, observed: fence.LedgerUnavailable})
	w.saw("PUT /a")
}

// recorded waits until the ledger has that mark or floor for a path.
func (w *world) recorded(path string, want fence.Token) {
	w.t.Helper()
	harness.Eventually(w.t, "the mark of "+path+" to be "+want.String(), func() (any, bool) {
		row, _, err := w.gate.Effective(w.t.Context(), fence.ResourceOf(path))
		return row, err == nil && row.Token == want
	})
}

// A slow body does not stop under observe when a newer token arrives.
func TestObservedUploadGoesOn(t *testing.T) {
	w := open(t, policy(fence.Observe))
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 2000000"
	c.send(request)
	c.raw(strings.Repeat("x", 1_500_000))
	w.received(1_500_000)
	w.says("PUT /a\nX-Fencing-Token: 6\n\nv6", stored)
	c.raw(strings.Repeat("x", 500_000))
	c.gets(request, stored)
	w.saw("PUT /a", "PUT /a")
}
