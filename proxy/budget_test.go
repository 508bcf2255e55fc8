//go:build !race

// With the race detector sync.Pool drops some on purpose.

package proxy

import (
	"net/http"
	"testing"
)

// What a request may allocate, which unlike its time is the same everywhere: the
// server and the client of the store have budgets of their own.
func TestAllocations(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func()
		want float64
	}{
		{"understanding a head", benchUnderstand(t), 1},                             // what the protocol makes of it
		{"a write with a known token", benchHandler(t, 5, http.StatusNoContent), 3}, // two are the store's
	} {
		if got := testing.AllocsPerRun(200, c.run); got > c.want {
			t.Errorf("%s allocates %v times, want %v", c.name, got, c.want)
		}
	}
}
