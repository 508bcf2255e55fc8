package integration

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// A has asked and takes no answer: its machine stands still. Shown: liveness, a
// stalled client never holds the gate, and B is through at once.
func TestStalledClientHoldsNothing(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("more than any buffer takes ", 7<<20/27)
	for _, c := range []struct {
		name    string
		request string
		plan    harness.Plan // for the request
		effects []string
	}{
		{
			name:    "a read",
			request: "GET %s HTTP/1.1\nHost: x\nX-Fencing-Token: 33\n\n",
			effects: []string{"PUT " + report + " from B"},
		}, {
			name:    "a write",
			request: "PUT %s HTTP/1.1\nHost: x\nX-Fencing-Token: 33\nContent-Length: 6\n\nfrom A",
			plan:    harness.Plan{Status: 200, Body: large},
			effects: []string{"PUT " + report + " from A", "PUT " + report + " from B"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t)
			store.Set(report, large)
			method, _, _ := strings.Cut(c.request, " ")
			store.Queue(method, report, c.plan)
			a := dial(t, s)
			a.send(fmt.Sprintf(c.request, report))
			if line, err := a.in.ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
				t.Fatalf("A's answer begins with %q, %v", line, err)
			}
			began := time.Now()
			says(t, s, "204", "PUT", report, stampOf(34, "b"), "from B")
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("B's write took %v beside a client that stands still", took)
			}
			tookEffect(t, store, c.effects...)
			// Nothing has made room for B by ending A, which may go on.
			if n, err := io.CopyN(io.Discard, a.in, int64(len(large))); err != nil {
				t.Errorf("A's answer broke off after %d bytes: %v", n, err)
			}
		})
	}
}
