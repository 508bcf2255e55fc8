package dir

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A small object that is sent in one piece has the same answer as one that
// http.ServeContent sends, which a condition that holds leads to.
func TestWholeIsAsServed(t *testing.T) {
	s := openDir(t)
	for name, content := range map[string]string{
		"empty":      "",
		"one":        "x",
		"text":       "line\nline\n",
		"page":       "<!DOCTYPE html><p>",
		"page.css":   "<!DOCTYPE html><p>",
		"data.json":  "{}",
		"binary":     "\x00\x01\x02\xff",
		"largest":    strings.Repeat("x", small),
		"larger":     strings.Repeat("x", small+1),
		"ümläut.txt": "ü",
	} {
		s.do(t, request("PUT", "/"+name, content))
		for _, method := range []string{"GET", "HEAD"} {
			get := func(header ...string) (http.Header, string) {
				res := s.do(t, request(method, "/"+name, "", header...))
				body, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%s %s: %d, %v", method, name, res.StatusCode, err)
				}
				return res.Header, string(body)
			}
			header, body := get()
			if want := content; method == "GET" && body != want || method == "HEAD" && body != "" {
				t.Errorf("%s %s: a body of %d bytes, want %d", method, name, len(body), len(want))
			}
			served, servedBody := get(`If-None-Match: "another"`)
			if diff := cmp.Diff(served, header); diff != "" || body != servedBody {
				t.Errorf("%s %s is not as http.ServeContent has it (-want +got):\n%s", method, name, diff)
			}
		}
	}
}

// A file that became shorter after it was looked at is not sent in one piece.
func TestWholeOfWhatShrinks(t *testing.T) {
	s := openDir(t)
	s.do(t, request("PUT", "/a", "1234"))
	n, err := parsePath("/a")
	if err != nil {
		t.Fatal(err)
	}
	o, now, err := s.reach(n)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	now.size++
	w := &sink{header: http.Header{}}
	if sent, err := sendWhole(w, request("GET", "/a", ""), n, o, &now); sent || err != nil || w.status != 0 || len(w.header) > 0 {
		t.Errorf("sent %v, %v: %d %v", sent, err, w.status, w.header)
	}
}

// What a GET of a small object may allocate.
func TestGetAllocates(t *testing.T) {
	s := openDAV(t)
	s.do(t, request("MKCOL", "/d", ""))
	s.do(t, request("PUT", "/d/object", strings.Repeat("x", 1<<10)))
	r, w := request("GET", "/d/object", ""), &sink{header: http.Header{}}
	const most = 9
	got := testing.AllocsPerRun(200, func() {
		w.reset()
		if _, err := s.Read(w, r); err != nil || w.status != 200 || w.bytes != 1<<10 {
			t.Fatal(w, err)
		}
	})
	if got > most {
		t.Errorf("a GET allocates %v times, want %d at most", got, most)
	}
}
