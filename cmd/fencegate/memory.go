package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// calmHeap is the size to which the heap may grow before its garbage is
// collected, in bytes. What serve keeps is a few MiB, and would by default be
// gone through again after as many MiB of garbage, dozens of times in a second.
const calmHeap = 16 << 20

// calmGC collects garbage when the heap has doubled, as by default, but not
// before it has calmHeap. GOGC and GOMEMLIMIT in the environment take over.
func calmGC() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	adjustGC(&heapMark{})
}

// heapMark is garbage at once, so that its finalizer runs after each collection.
type heapMark struct{ _ [16]byte }

func adjustGC(mark *heapMark) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(gcPercent(m.HeapAlloc))
	runtime.SetFinalizer(mark, adjustGC)
}

// gcPercent returns the GOGC with which a live heap grows to calmHeap at least.
func gcPercent(live uint64) int {
	live = max(live, 1<<20)
	if live >= calmHeap/2 {
		return 100
	}
	return int((calmHeap - live) * 100 / live)
}
