package integration

import (
	"net/http"
	"syscall"
	"testing"

	"fencegate/integration/harness"
)

// Thousands of connections that do nothing keep nobody from being served, and
// nothing is left of them.
func TestHostileIdleConnections(t *testing.T) {
	s := harness.Fencegate(t)
	quiet := s.Metrics()
	goroutines, files := quiet.Gauge("go_goroutines"), quiet.Gauge("process_open_fds")

	// fencegate and this test may have as many files open; fencegate takes
	// fewer than half as many connections.
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n := int(min(4096, (limit.Max-256)/4))
	idle := make([]*wire, n)
	for i := range idle {
		idle[i] = dial(t, s)
		idle[i].send("GET /none HTTP/1.1\nHost: x\n\n") // whom fencegate has met it holds for minutes
		idle[i].says("404", http.MethodGet)
	}
	// The look before may have counted a connection of its own.
	if held := s.Metrics().Gauge("process_open_fds") - files; held < float64(n-8) {
		t.Fatalf("fencegate holds %v connections of %d", held, n)
	}
	holder := stampOf(5, "holder")
	says(t, s, "201", "PUT", report, holder, "others are served")
	says(t, s, "200", "GET", report, holder, "")
	idle[0].send("GET " + report + " HTTP/1.1\nHost: x\n\n")
	idle[0].says("200", http.MethodGet)

	for _, w := range idle {
		w.Close()
	}
	harness.Eventually(t, "the connections to be forgotten", func() (any, bool) {
		now := s.Metrics()
		left := [2]float64{now.Gauge("go_goroutines") - goroutines, now.Gauge("process_open_fds") - files}
		return left, left[0] <= 0 && left[1] <= 0
	})
}
