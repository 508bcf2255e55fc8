package integration

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// mostOfListing is how much memory one listing may take at its peak.
const mostOfListing = 64 << 10 // KiB

// A hundred thousand files are listed. Shown: the answer passes through while it
// comes, every name in it replaced, and fencegate does not keep it.
func TestListingOfManyFiles(t *testing.T) {
	t.Parallel()
	n := harness.Scale(100_000)
	store := harness.Apache(t)
	many := filepath.Join(store.Root(), "files", "many")
	if err := os.MkdirAll(many, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("a file with a name, number %06d.txt", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := harness.FencegateAsShipped(t, "--upstream", store.URL()+"/files", "--protocol", "webdav", "--public-url", "http://public.test/dav", "--settle", "100ms")
	asked(t, s.URL(), "207", "PROPFIND /dav/\nDepth: 1") // what is made once has been
	idle := memoryOf(t, s, "VmRSS:")
	direct := list(t, store.URL()+"/files/many/", "/files/many/", n)
	through := list(t, s.URL()+"/dav/many/", "/dav/many/", n)
	peak := memoryOf(t, s, "VmHWM:")
	t.Logf("%d files are listed in %v, by Apache itself in %v; the peak of memory is %d KiB, before it had %d KiB", n, through, direct, peak, idle)
	if peak-idle > mostOfListing {
		t.Errorf("the listing took %d KiB of memory, want %d at most", peak-idle, mostOfListing)
	}
}

// list lists a collection and counts the hrefs below prefix. It returns how long
// that took.
func list(t *testing.T, url, prefix string, n int) time.Duration {
	t.Helper()
	r, err := http.NewRequest("PROPFIND", url, strings.NewReader(`<propfind xmlns="DAV:"><allprop/></propfind>`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Depth", "1")
	start := time.Now()
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * harness.Patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	found, all := 0, 0
	for in := bufio.NewReader(res.Body); ; {
		piece, err := in.ReadString('>')
		if strings.HasSuffix(piece, "</D:href>") {
			all++
			if strings.HasPrefix(piece, prefix) {
				found++
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if found != n+1 || all != n+1 {
		t.Errorf("%s lists %d hrefs, %d of them below %s, want %d", url, all, found, prefix, n+1)
	}
	return time.Since(start)
}

// memoryOf returns what the kernel tells of fencegate's memory, in KiB: VmRSS is
// what it has, VmHWM the most that it has had.
func memoryOf(t *testing.T, s *harness.Server, what string) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process().PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), what)
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// A store takes its time for a listing. Shown: the client has each name as soon
// as the store has told it.
func TestListingPassesThrough(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusMultiStatus)
		fmt.Fprint(w, `<multistatus xmlns="DAV:"><response><href>/files/first</href>`)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		select {
		case <-seen:
			fmt.Fprint(w, `</response></multistatus>`)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(store.Close)
	s := harness.Fencegate(t, "--upstream", store.URL+"/files", "--protocol", "webdav", "--settle", "100ms")
	w := dial(t, s)
	w.send("PROPFIND / HTTP/1.1\nHost: x\nDepth: 1\nConnection: close\n\n")
	text := ""
	for !strings.HasSuffix(text, "<href>/first") {
		c, err := w.in.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text += string(c)
	}
	close(seen)
	if rest, err := io.ReadAll(w.in); err != nil || !strings.Contains(string(rest), "</response></multistatus>") {
		t.Errorf("it ends with %q, %v", rest, err)
	}
}
