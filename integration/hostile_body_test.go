package integration

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"fencegate/integration/harness"
)

// What is refused from its head is refused before its body, however large: the
// client is told at once, and little of what it sends all the same is taken.
func TestHostileLargeBodies(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	const head = "PUT /large HTTP/1.1\nHost: x\nContent-Length: 1073741824\n"
	for _, expect := range []string{"", "Expect: 100-continue\n"} {
		w := dial(t, s)
		w.send(head + expect + "\n")
		w.says("428 token_missing", http.MethodPut) // no 100 before it
		sent, piece := 0, bytes.Repeat([]byte("x"), 1<<20)
		for sent < 1<<30 {
			n, err := w.Write(piece)
			if sent += n; err != nil {
				break
			}
		}
		// It reads on for 8 MiB; more waits in the kernels.
		if sent > 40<<20 {
			t.Errorf("%d MiB of a refused body were taken (%q)", sent>>20, expect)
		}
	}

	// Who sends first and reads later finds the answer, not a reset.
	w := dial(t, s)
	w.send(head + "\n")
	for range 4 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	w.says("428 token_missing", http.MethodPut)
	if rest, err := io.ReadAll(w.in); err != nil || len(rest) > 0 {
		t.Errorf("behind the answer there is %q, %v", rest, err)
	}
}
