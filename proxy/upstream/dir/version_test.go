package dir

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An entity tag never comes back, however fast versions follow each other,
// whatever order uploads are committed in, and whatever the clock does.
func TestEntityTagsDiffer(t *testing.T) {
	s := openDir(t)
	seen := map[string]bool{}
	var last time.Time
	put := func(r *http.Request) {
		t.Helper()
		res := s.do(t, r)
		etag := res.Header.Get("ETag")
		if seen[etag] {
			t.Fatalf("entity tag %s was used twice", etag)
		}
		seen[etag] = true
		if got := s.do(t, request("GET", "/a", "")).Header.Get("ETag"); got != etag {
			t.Fatalf("PUT answered %s, GET %s", etag, got)
		}
		fi, err := os.Stat(filepath.Join(s.root, "a"))
		if err != nil {
			t.Fatal(err)
		}
		if !fi.ModTime().After(last) {
			t.Fatalf("modification time %v is not after %v", fi.ModTime(), last)
		}
		last = fi.ModTime()
	}
	early, _, err := s.Prepare(context.Background(), request("PUT", "/a", "1"), strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		put(request("PUT", "/a", "1"))
	}
	res, _, err := early(context.Background())
	if err != nil || seen[res.Header.Get("ETag")] {
		t.Fatalf("upload that was taken in first: %v %v", res, err)
	}
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(s.root, "a"), ahead, ahead); err != nil {
		t.Fatal(err)
	}
	last = ahead
	put(request("PUT", "/a", "1"))
	put(request("PUT", "/a", "1"))
}

// A file from the future dates neither what is written beside it nor answers.
func TestFutureModificationTime(t *testing.T) {
	s := openDir(t)
	s.do(t, request("PUT", "/a", "1"))
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(s.root, "a"), ahead, ahead); err != nil {
		t.Fatal(err)
	}
	answers := map[string]*http.Response{
		"GET":   s.do(t, request("GET", "/a", "")),
		"412":   s.do(t, request("PUT", "/a", "2", "If-None-Match: *")),
		"range": s.do(t, request("GET", "/a", "", "Range: bytes=0-0")),
		"PUT":   s.do(t, request("PUT", "/a", "2")),
		"other": s.do(t, request("PUT", "/b", "2")),
	}
	limit := time.Now()
	for name, res := range answers {
		if at, err := http.ParseTime(res.Header.Get("Last-Modified")); err != nil || at.After(limit) {
			t.Errorf("%s: Last-Modified %q, %v", name, res.Header.Get("Last-Modified"), err)
		}
	}
	if fi, err := os.Stat(filepath.Join(s.root, "b")); err != nil || fi.ModTime().After(limit.Add(2*time.Second)) {
		t.Errorf("another object was written at %v, %v", fi.ModTime(), err)
	}
	// What was sent as Last-Modified may have been sent for another version.
	since := "If-Modified-Since: " + answers["PUT"].Header.Get("Last-Modified")
	if res := s.do(t, request("GET", "/a", "", since)); res.StatusCode != http.StatusOK {
		t.Errorf("%s: %d", since, res.StatusCode)
	}
	if res := s.do(t, request("GET", "/a", "", strings.Replace(since, "Modified", "Unmodified", 1))); res.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("If-Unmodified-Since: %d", res.StatusCode)
	}
}

func TestClock(t *testing.T) {
	set := time.Unix(1_700_000_001, 123456789)
	for step, got := range map[int64]time.Time{
		1:             set,
		100:           time.Unix(1_700_000_001, 123456700),
		1000:          time.Unix(1_700_000_001, 123456000),
		1_000_000:     time.Unix(1_700_000_001, 123000000),
		10_000_000:    time.Unix(1_700_000_001, 120000000),
		1_000_000_000: time.Unix(1_700_000_001, 0),
		2_000_000_000: time.Unix(1_700_000_000, 0),
	} {
		if g := granularity(set, got); g != step {
			t.Errorf("%v as %v: granularity %d, want %d", set, got, g, step)
		}
		c := clock{step: step}
		first, second := c.next(), c.next()
		third := c.after(second.Add(time.Hour))
		if second.Sub(first) < time.Duration(step) || third.Sub(second) < time.Hour {
			t.Errorf("step %d: %v, %v, %v do not rise", step, first, second, third)
		}
		for _, at := range []time.Time{first, second, third} {
			if at.UnixNano()%step != 0 {
				t.Errorf("step %d: %v cannot be stored", step, at)
			}
		}
	}
}
