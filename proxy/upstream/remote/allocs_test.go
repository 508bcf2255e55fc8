//go:build unix && !race

package remote

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"fencegate/fence"
)

// What a round trip may allocate: of an answer the response, which has room for
// its values, and the two parts of its header; the rest is the test's own or, for
// reads, what http.ResponseWriter and bodies need. The race detector empties
// pools, so it is not measured with it.
func TestAllocations(t *testing.T) {
	u := open(t, sink(t), Options{Idle: time.Minute})
	r := request("GET", "/a", "User-Agent: x")
	r.Body = http.NoBody
	small, large := []byte(large[:1<<10]), []byte(large[:64<<10])
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"PUT of 1 KiB":  {5, func() { put(t, u, bytes.NewBuffer(small), len(small)) }},
		"PUT of 64 KiB": {5, func() { put(t, u, bytes.NewBuffer(large), len(large)) }},
		"GET of 1 KiB": {6, func() {
			if outcome, err := u.Read(&discarder{header: http.Header{}}, r); err != nil || outcome != fence.Definite {
				t.Fatal(outcome, err)
			}
		}},
	} {
		if got := testing.AllocsPerRun(200, c.do); got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, got, c.most)
		}
	}
}
