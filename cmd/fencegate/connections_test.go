package main

import (
	"math"
	"testing"
)

func TestConnectionsLeaveFilesForTheLedger(t *testing.T) {
	for files, want := range map[uint64]int{
		0: 16, 256: 16, 257: 16, 1024: 384, 20_000: 9_872, 1 << 20: mostConnections, math.MaxUint64: mostConnections,
	} {
		if got := connectionsFor(files); got != want {
			t.Errorf("with %d open files %d connections are taken, want %d", files, got, want)
		}
	}
}
