package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// A hundred requests that are sent before the first answer is read are answered
// in their order, refusals among them.
func TestHostilePipelining(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	var all strings.Builder
	for i := range 25 {
		content := fmt.Sprintf("content %02d", i)
		fmt.Fprintf(&all, "PUT /%d HTTP/1.1\nHost: x\nX-Fencing-Token: 5\nContent-Length: %d\n\n%s", i, len(content), content)
		fmt.Fprintf(&all, "GET /%d HTTP/1.1\nHost: x\nX-Fencing-Token: 6\n\n", i)
		fmt.Fprintf(&all, "PUT /%d HTTP/1.1\nHost: x\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n4\nlate\n0\n\n", i)
		fmt.Fprintf(&all, "GET /%d HTTP/1.1\nHost: x\n\n", i)
	}
	w := dial(t, s)
	w.send(all.String())
	for i := range 25 {
		content := fmt.Sprintf("content %02d", i)
		w.says("201", http.MethodPut)
		if a := w.says("200", http.MethodGet); a.body != content {
			t.Fatalf("/%d is answered %q", i, a.body)
		}
		if a := w.says("412 stale_token", http.MethodPut); !strings.Contains(a.body, fmt.Sprintf(`"/%d"`, i)) {
			t.Fatalf("the refusal of /%d is about another:\n%s", i, a.body)
		}
		if a := w.says("200", http.MethodGet); a.body != content {
			t.Fatalf("/%d is answered %q after the refusal", i, a.body)
		}
	}
}
