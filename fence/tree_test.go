package fence

import (
	"context"
	"testing"
)

func TestTreeWriteAgainstWritesBelow(t *testing.T) {
	conversation(t, newFakeLedger(), Options{}, func(t *testing.T, g *Gate) {
		inFlight := arrive(t, g, put("/d/f", 3, "a"))
		begin(t, inFlight)
		remove := beginning(t, arrive(t, g, tree("/d", 4, "b")))
		remove.still(t)                               // the PUT below may still land
		refuse(t, g, StaleToken, put("/d/g", 3, "a")) // what comes later is fenced
		inFlight.Done(Definite)
		if v := remove.verdict(t); !v.OK() {
			t.Fatal(v.Reason)
		}
		later := beginning(t, arrive(t, g, put("/d/g", 5, "c")))
		later.still(t) // the DELETE may still remove it
	})
}

func TestTreeWriteSeesRowsRaisedWhileItScans(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		var between func()
		l.onBelow = func() {
			l.onBelow = nil
			between()
		}
		between = func() {
			begin(t, arrive(t, g, put("/d/f", 9, "b"))) // raised and durable after the scan's snapshot
		}
		refuse(t, g, TreeFenced, tree("/d", 4, "a"))
	})
}

func TestLeavingDuringTheLookUpIsNotTheLedgersFault(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		ctx, leave := context.WithCancel(t.Context())
		l.onBelow = leave
		if p, v := g.Arrive(ctx, Request{Touches: []Touch{tree("/d", 1, "a")}}); p != nil || v.Reason != ClientGone {
			t.Errorf("%q", v.Reason)
		}
	})
}
