package fence

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestNoPieceOfARequestIsKept: path, owner and client of a request may be pieces
// of one long text. What the gate keeps of them after the request, as a mark, as
// what was raised meanwhile, or as an entry, must not keep that text in memory.
func TestNoPieceOfARequestIsKept(t *testing.T) {
	const requests, length = 32, 1 << 20
	for name, outcome := range map[string]Outcome{"marks": Definite, "entries": Uncertain} {
		t.Run(name, func(t *testing.T) {
			g, err := Start(t.Context(), newFakeLedger(), Options{Settle: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range requests {
				path, owner, client := fmt.Sprintf("/reports/%d.csv", i), fmt.Sprintf("owner-%d", i), "host-17/4711"
				head := path + owner + client + strings.Repeat(" ", length)
				path, head = head[:len(path)], head[len(path):]
				owner, head = head[:len(owner)], head[len(owner):]
				fence, object := Resource{path}, Resource{path}
				if i%2 == 0 && outcome == Definite { // nothing begins under an entry's fence
					fence, _ = fence.Parent()
				}
				p, v := g.Arrive(context.Background(), Request{Touches: []Touch{{
					Fence: fence, Object: object, FenceTree: fence != object, Policy: Require,
					Stamp: Stamp{Token: Token(34 + i), Owner: Owner(owner), Client: head[:len(client)]},
				}}})
				if !v.OK() {
					t.Fatal(v.Reason)
				}
				if v := p.Begin(context.Background()); !v.OK() {
					t.Fatal(v.Reason)
				}
				p.Done(outcome)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 2*length {
				t.Errorf("after %d requests with a head of %d bytes each %d bytes are kept", requests, length, kept)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := g.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}
