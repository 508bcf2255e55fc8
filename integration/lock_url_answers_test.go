package integration

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// What the fence and the store say reaches the program; only what is the
// fence's word has its header.
func TestHelperPassesAnswersOn(t *testing.T) {
	t.Parallel()
	elsewhere := newFakeFence(t, fine)
	cut := func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	}
	store := func(status int, location string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte("the store's"))
		}
	}
	const other = "\x00" // stands for a server elsewhere
	for _, c := range []struct {
		name     string
		answer   http.HandlerFunc
		method   string
		want     string
		location string
		says     string
		after    string
	}{
		{"fenced tree", problem(409, "tree_fenced", "X-Fencing-Highest: 99"), "DELETE", "409 tree_fenced", "", `"highest": "99"`, ""},
		{"in doubt", problem(504, "outcome_unknown", "Retry-After: 7"), "PUT", "504 outcome_unknown", "", "Told by a test", "7"},
		{"settling", problem(503, "settling", "Retry-After: 3"), "PUT", "503 settling", "", "Told by a test", "3"},
		{"too large", problem(413, "body_too_large"), "PUT", "413 body_too_large", "", "Told by a test", ""},
		{"store's 412", store(412, ""), "PUT", "412", "", "the store's", ""},
		{"store's 409", store(409, ""), "PUT", "409", "", "the store's", ""},
		{"store's 500", store(500, ""), "PUT", "500", "", "the store's", ""},
		{"created", store(201, report), "PUT", "201", "HELPER" + report, "the store's", ""},
		{"created at the fence", store(201, "FENCE"+report+"?a=%41"), "PUT", "201", "HELPER" + report + "?a=%41", "the store's", ""},
		{"created at no scheme", store(201, "//HOST"+report), "PUT", "201", "HELPER" + report, "the store's", ""},
		{"created beside", store(201, "q3.csv"), "PUT", "201", "q3.csv", "the store's", ""},
		{"redirect", store(307, "FENCE/reports/"), "PUT", "307", "HELPER/reports/", "the store's", ""},
		{"redirect elsewhere", store(307, other+"/r"), "PUT", "403", "", "leads to another server", ""},
		{"read redirect elsewhere", store(302, other+"/r"), "GET", "302", other + "/r", "the store's", ""},
		{"no answer", cut, "PUT", "504 outcome_unknown", "", "", "1"},
		{"no answer to a read", cut, "GET", "504", "", "did not answer", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var f *fakeFence
			f = newFakeFence(t, func(w http.ResponseWriter, r *http.Request) {
				c.answer(&relocating{w, strings.NewReplacer("FENCE", f.URL, "HOST", strings.TrimPrefix(f.URL, "http://"), other, elsewhere.URL)}, r)
			})
			h := help(t, harness.Redis(t, savesNow...).Addr(), f.URL)
			a := h.asks(c.method, "/SECRET"+report)
			location := strings.NewReplacer("HELPER", h.url, other, elsewhere.URL).Replace(c.location)
			if a.String() != c.want || a.header.Get("Location") != location || !strings.Contains(a.body, c.says) || a.header.Get("Retry-After") != c.after {
				t.Errorf("it is answered %v %v\n%s", a, a.header, a.body)
			}
			if seen := f.got(); len(seen) != 1 {
				t.Errorf("it was sent %d times", len(seen))
			}
			h.done()
		})
	}
	if seen := elsewhere.got(); len(seen) > 0 {
		t.Error("a redirect was followed")
	}
}

// relocating completes Location.
type relocating struct {
	http.ResponseWriter
	names *strings.Replacer
}

func (r *relocating) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *relocating) WriteHeader(status int) {
	if to := r.Header().Get("Location"); to != "" {
		r.Header().Set("Location", r.names.Replace(to))
	}
	r.ResponseWriter.WriteHeader(status)
}

// A fence that is not there: nothing was sent, and that is what is said.
func TestHelperWithoutAFence(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	h := help(t, s.redis.Addr(), s.fence.URL(), "--ttl", "1m")
	s.fence.Kill()
	for _, header := range []string{"X-None: 1", "X-Fencing-Token: 7"} {
		if a := h.asks("PUT", "/SECRET"+report, header); a.String() != "502" || !strings.Contains(a.body, "nothing was sent") {
			t.Errorf("it is answered %v\n%s", a, a.body)
		}
	}
	h.done()
}

// A later holder was seen: that is the end of the lock, and of the command.
func TestHelperThatIsFencedOff(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	later := stampOf(fence.DefaultMaxToken/2, "later")
	signal := filepath.Join(t.TempDir(), "go")
	p := s.lockScript(`curl -sS -T - "$FENCEGATE_URL`+report+`" <<<first
echo written
while [ ! -e `+signal+` ]; do sleep 0.02; done
curl -sS -T - "$FENCEGATE_URL`+report+`" <<<late
while :; do sleep 0.02; done`, "--ttl", "1m")
	p.AwaitLine("written")
	holds(t, s.fence, report, "first\n")
	says(t, s.fence, "204", http.MethodPut, report, later, "later")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantCode(t, p, 76)
	if said := strings.Join(p.Stderr(), "\n"); !strings.Contains(said, "fenced") || !strings.Contains(said, "stale_token") {
		t.Errorf("it says %q", said)
	}
	holds(t, s.fence, report, "later")
}

// The lock ends while a write is at the fence, and with it the helper: nobody is
// served afterwards.
func TestHelperEndsWithTheLock(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	hold := make(chan struct{})
	f := newFakeFence(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-hold
	})
	t.Cleanup(func() { close(hold) }) // before the server is closed
	redis := harness.Redis(t, savesNow...)
	h := help(t, redis.Addr(), f.URL, "--ttl", "1s")
	failed := make(chan error, 1)
	go func() {
		_, err := send(fresh, http.MethodPut, h.url+report, fence.Stamp{}, strings.NewReader("x"))
		failed <- err
	}()
	<-arrived
	redis.FlushAll()
	wantCode(t, h.Process, 76)
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a write was answered after the end")
		}
	case <-time.After(harness.Patience):
		t.Error("a request outlives the lock")
	}
	if conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", h.addr); err == nil {
		conn.Close()
		t.Error("the helper outlives the lock")
	}
}

// Headers that name the helper name the fence on the other side.
func TestHelperTranslatesNames(t *testing.T) {
	t.Parallel()
	f := newFakeFence(t, fine)
	h := help(t, harness.Redis(t, savesNow...).Addr(), f.URL, "-r", report, "-r", "/new")
	for _, destination := range []string{"http://" + h.addr + "/SECRET/new", "/SECRET/new", f.URL + "/new"} {
		a := h.asks("MOVE", "/SECRET"+report, "Destination: "+destination,
			"If: <http://"+h.addr+"/SECRET/new> (<urn:x>)", "Referer: http://"+h.addr+"/SECRET/page")
		if a.String() != "204" {
			t.Fatalf("to %s it is answered %v %s", destination, a, a.body)
		}
		r := f.one(t)
		for name, want := range map[string]string{
			"Destination": f.URL + "/new", "If": "<" + f.URL + "/new> (<urn:x>)", "Referer": f.URL + "/page", "X-Fencing-Token": h.token,
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	h.done()
}

// Nor is a write with a token of its own that was sent and not answered told
// otherwise than the lock's.
func TestHelperTellsOfItsOwnToken(t *testing.T) {
	t.Parallel()
	f := newFakeFence(t, func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	})
	h := help(t, harness.Redis(t, savesNow...).Addr(), f.URL)
	if a := h.asks("PUT", "/SECRET"+report, "X-Fencing-Token: 7"); a.String() != "504 outcome_unknown" || a.header.Get("Retry-After") == "" {
		t.Errorf("it is answered %v\n%s", a, a.body)
	}
	if seen := f.got(); len(seen) != 1 {
		t.Errorf("it was sent %d times", len(seen))
	}
	h.done()
}

// A client that lists a folder goes on with the names that it is told.
func TestHelperTranslatesListings(t *testing.T) {
	t.Parallel()
	f := newFakeFence(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml; charset=utf-8")
		w.WriteHeader(http.StatusMultiStatus)
		fmt.Fprintf(w, "<D:href>/reports/a</D:href><D:href>http://%s/reports/b</D:href><D:href>http://elsewhere/c</D:href>", r.Host)
	})
	h := help(t, harness.Redis(t, savesNow...).Addr(), f.URL)
	want := "<D:href>/SECRET/reports/a</D:href><D:href>http://" + h.addr + "/SECRET/reports/b</D:href><D:href>http://elsewhere/c</D:href>"
	want = strings.ReplaceAll(want, "SECRET", h.secret)
	if a := h.asks("PROPFIND", "/SECRET/reports", "Depth: 1", "Accept-Encoding: gzip"); a.body != want {
		t.Errorf("it is told %v\n%s, want\n%s", a, a.body, want)
	}
	if r := f.one(t); r.Header.Get("Accept-Encoding") != "" {
		t.Errorf("the fence is asked for %q", r.Header.Get("Accept-Encoding"))
	}
	if a := h.asks("GET", "/SECRET/reports/list.xml"); !strings.HasPrefix(a.body, "<D:href>/reports/a<") {
		t.Errorf("the object reads %s", a.body)
	}
	f.one(t)
	h.done()
}
