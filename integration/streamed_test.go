package integration

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// A streams an upload and is stuck in the middle of it when B writes. Shown:
// liveness, B waits for settle and not for A; S1, nothing of A is seen; and S4,
// A is told that nobody knows.
func TestStreamedUploadIsOvertaken(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	s := harness.Fencegate(t, "--upstream", store.URL(), "--settle", "200ms", "--body", "stream")
	a, b := stampOf(7, "a"), stampOf(8, "b")
	says(t, s, "201", http.MethodPut, report, stampOf(6, "before"), "as it was")
	u := startUpload(s, report, a)
	if _, err := io.WriteString(u.body, strings.Repeat("from A ", 100_000)); err != nil {
		t.Fatal(err)
	}
	uploads := func() int {
		files, err := filepath.Glob(filepath.Join(store.Root(), "..", "uploads", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	harness.Eventually(t, "a part to be at nginx", func() (any, bool) { n := uploads(); return n, n == 1 })
	if n := s.Metrics().Gauge("fencegate_spool_bytes"); n != 0 {
		t.Errorf("%v bytes of what is streamed are kept", n)
	}
	holds(t, s, report, "as it was")
	start := time.Now()
	says(t, s, "204", http.MethodPut, report, b, "from B")
	if took := time.Since(start); took < 200*time.Millisecond || took > 10*time.Second {
		t.Errorf("B waited for %v, want about the settle time", took)
	}
	_, _ = io.WriteString(u.body, " and whole") // nobody may read it any more
	u.body.Close()
	if said := <-u.answer; said != "504 outcome_unknown" {
		t.Errorf("A is answered %s", said)
	}
	holds(t, s, report, "from B")
	harness.Eventually(t, "nginx to drop what it got of A", func() (any, bool) { n := uploads(); return n, n == 0 })
}

// What is larger than all of the spool may be streamed, with its length known or
// not.
func TestStreamedUploadNeedsNoSpool(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	s := harness.Fencegate(t, "--upstream", store.URL(), "--settle", "200ms", "--body", "stream", "--spool-quota", "1KiB")
	large := strings.Repeat("0123456789abcdef", 1<<20)
	for path, body := range map[string]io.Reader{"/sized": strings.NewReader(large), "/chunked": struct{ io.Reader }{strings.NewReader(large)}} {
		a, err := send(fresh, http.MethodPut, s.URL()+path, stampOf(5, "holder"), body)
		if err != nil || a.String() != "201" {
			t.Fatalf("%s: %v, %v", path, a, err)
		}
		if a := says(t, s, "200", http.MethodGet, path, stampOf(5, "holder"), ""); a.body != large {
			t.Errorf("%s: %d of %d bytes are stored", path, len(a.body), len(large))
		}
	}
}
