package dir

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/fence"
)

func to(path string, more ...string) []string {
	return append([]string{"Destination: http://storage.test" + path}, more...)
}

func TestDAVBasics(t *testing.T) {
	s := openDAV(t)
	all := "GET, HEAD, OPTIONS, PROPFIND, PUT, DELETE, MKCOL, COPY, MOVE, PROPPATCH, LOCK, UNLOCK"
	converse(t, s, []step{
		{method: "OPTIONS", path: "/", status: 200, answerHeader: "DAV: 1, 2"},
		{method: "OPTIONS", path: "/x", status: 200, answerHeader: "Allow: " + all},
		{method: "OPTIONS", path: "*", status: 200, answerHeader: "MS-Author-Via: DAV"},
		{method: "POST", path: "/x", status: 405, answerHeader: "Allow: " + all},
		{method: "PUT", path: "/no/x", body: "1", status: 409, answer: "MKCOL"},
		{method: "MKCOL", path: "/d/e", status: 409, answer: "MKCOL"},
		{method: "MKCOL", path: "/d", body: "x", status: 415},
		{method: "MKCOL", path: "/d", status: 201},
		{method: "MKCOL", path: "/d", status: 405, answerHeader: "Allow: " + all},
		{method: "MKCOL", path: "/d/", status: 405},
		{method: "MKCOL", path: "/", status: 405},
		{method: "MKCOL", path: "/d/e/", status: 201},
		{method: "MKCOL", path: "/f", header: []string{"If-Match: *"}, status: 412},
		{method: "MKCOL", path: "/d", header: []string{"If-None-Match: *"}, status: 412},
		{method: "PUT", path: "/d/e/x", body: "1", status: 201},
		{method: "MKCOL", path: "/d/e/x", status: 405},
		{method: "MKCOL", path: "/d/e/x/y", status: 409},
		{method: "PUT", path: "/d/e/x", body: "2", status: 204},
		{method: "PUT", path: "/d/e", body: "2", status: 409},
		{method: "GET", path: "/d/e/x", status: 200, answer: "2"},
		{method: "GET", path: "/d/e/x/", status: 404},
		{method: "DELETE", path: "/d", status: 204},
		{method: "GET", path: "/d/e/x", status: 404},
	})
}

// Under protocol plain nothing of this is offered.
func TestPlainOffersNoDAV(t *testing.T) {
	s := openDir(t)
	s.do(t, request("PUT", "/a", "1"))
	for _, method := range []string{"PROPFIND", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK"} {
		converse(t, s, []step{{method: method, path: "/a", header: to("/b"), status: 405, answerHeader: "Allow: GET, HEAD, OPTIONS, PUT, DELETE"}})
	}
	if got := s.content(t, "b"); got != "(nothing)" {
		t.Errorf("b is %q", got)
	}
}

// What COPY and MOVE have in common. Each case starts from /f, a file, /s, a tree,
// /d, another tree, and /g, another file.
func TestTransfers(t *testing.T) {
	files := []string{"f one", "s/a 1", "s/b/c 2", "d/a old", "d/x/y old", "g two"}
	const sTree, dTree = "/ /a=1 /b/ /b/c=2", "/ /a=old /x/ /x/y=old"
	for _, c := range []struct {
		from, to string
		header   []string
		status   int
		answer   string
		want     string // what is at the destination
	}{
		{from: "/f", to: "/new", status: 201, want: "=one"},
		{from: "/s", to: "/new", status: 201, want: sTree},
		{from: "/s/", to: "/new/", status: 201, want: sTree},
		{from: "/f", to: "/g", status: 204, want: "=one"},
		{from: "/f", to: "/g", header: []string{"Overwrite: T"}, status: 204, want: "=one"},
		{from: "/f", to: "/g", header: []string{"Overwrite: F"}, status: 412, answer: "Overwrite", want: "=two"},
		{from: "/s", to: "/d", header: []string{"Overwrite: F"}, status: 412, want: dTree},
		{from: "/f", to: "/new", header: []string{"Overwrite: F"}, status: 201, want: "=one"},
		{from: "/s", to: "/d", status: 204, want: sTree},
		{from: "/s", to: "/g", status: 204, want: sTree},
		{from: "/f", to: "/d", status: 204, want: "=one"},
		{from: "/f", to: "/d/x/y", status: 204, want: "=one"},
		{from: "/s/b", to: "/d/x", status: 204, want: "/ /c=2"},
		{from: "/f", to: "/no/new", status: 409, answer: "MKCOL"},
		{from: "/f", to: "/g/new", status: 409},
		{from: "/none", to: "/new", status: 404},
		{from: "/none/x", to: "/new", status: 404},
		{from: "/f/", to: "/new", status: 404},
		{from: "/f", to: "/f", status: 403, answer: "same", want: "=one"},
		{from: "/s", to: "/s/", status: 403, answer: "same", want: sTree},
		{from: "/s", to: "/s/b/in", status: 403, answer: "inside the source"},
		{from: "/s/b", to: "/s", status: 403, answer: "contains the source", want: sTree},
		{from: "/s/b/c", to: "/s", status: 403, answer: "contains the source", want: sTree},
		{from: "/f", to: "/", status: 403, answer: "root"},
		{from: "/", to: "/new", status: 403},
		{from: "/f", to: "/.fencegate/x", status: 403, answer: textReserved},
		{from: "/f", to: "/.FenceGate", status: 403, answer: textReserved},
		{from: "/f", to: "/../x", status: 400},
		{from: "/f", to: "/d%2Fx", status: 400, answer: "slash"},
		{from: "/f", to: "/d%zz", status: 400},
		{from: "/f", to: "/d//x", status: 400},
		{from: "/f", to: "/%00", status: 400},
		{from: "/f", to: "/sp%20ace%C3%A9", status: 201},
		{from: "/f", to: "/" + strings.Repeat("n", 256), status: 414},
		{from: "/f", to: "/new", header: []string{"Destination: http://storage.test/other"}, status: 400, answer: "2 times"},
		{from: "/f", to: "/new", header: []string{"Overwrite: maybe"}, status: 400},
		{from: "/f", to: "/new", header: []string{"Depth: 1"}, status: 400},
		{from: "/f", to: "/new", header: []string{"Depth: infinity"}, status: 201, want: "=one"},
		{from: "/f", to: "/new", header: []string{`If-Match: "other"`}, status: 412},
		{from: "/f", to: "/new", header: []string{"If-Match: *"}, status: 201, want: "=one"},
		{from: "/f", to: "/new", header: []string{`If: (["other"])`}, status: 412},
		{from: "/f", to: "/g", header: []string{`If: </g> (["other"])`}, status: 412, want: "=two"},
		{from: "/f", to: "/g", header: []string{`If: </g> (Not ["other"])`}, status: 204, want: "=one"},
		{from: "/f", to: "/new", header: []string{"If: nonsense"}, status: 400},
	} {
		for _, method := range []string{"COPY", "MOVE"} {
			s := openDAV(t)
			fill(t, s.root, files...)
			name := filepath.Clean(c.from)[1:]
			before := ""
			if name != "" && !strings.HasPrefix(name, area) {
				before = tree(t, s.root, name)
			}
			res := s.do(t, request(method, c.from, "", to(c.to, c.header...)...))
			what := method + " " + c.from + " to " + c.to + " " + strings.Join(c.header, ", ")
			if got := text(t, res); res.StatusCode != c.status || !strings.Contains(got, c.answer) {
				t.Errorf("%s: %d %q, want %d %q", what, res.StatusCode, got, c.status, c.answer)
			}
			at := strings.Trim(c.to, "/")
			if c.want != "" || c.status == 404 || c.status == 409 {
				if got := tree(t, s.root, at); got != c.want {
					t.Errorf("%s: the destination is %q, want %q", what, got, c.want)
				}
			}
			if before == "" {
				continue
			}
			switch got := tree(t, s.root, name); {
			case method == "MOVE" && c.status < 300 && got != "":
				t.Errorf("%s: the source is still there: %q", what, got)
			case (method == "COPY" || c.status >= 300) && got != before:
				t.Errorf("%s: the source is %q, was %q", what, got, before)
			}
		}
	}
}

// Depth 0: of a directory only itself.
func TestCopyDepthZero(t *testing.T) {
	s := openDAV(t)
	fill(t, s.root, "s/a 1", "d/a old")
	converse(t, s, []step{
		{method: "COPY", path: "/s", header: to("/new", "Depth: 0"), status: 201},
		{method: "COPY", path: "/s", header: to("/s/in", "Depth: 0"), status: 201},
		{method: "COPY", path: "/s", header: to("/d", "Depth: 0"), status: 204},
		{method: "COPY", path: "/", header: to("/root", "Depth: 0"), status: 201},
		{method: "MOVE", path: "/s", header: to("/x", "Depth: 0"), status: 400},
	})
	for path, want := range map[string]string{"new": "/", "s": "/ /a=1 /in/", "d": "/", "root": "/"} {
		if got := tree(t, s.root, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// What replaces an object has a later time, so that those who ask by date or
// entity tag see the change.
func TestTransfersAreNewVersions(t *testing.T) {
	s := openDAV(t)
	tags := map[string]bool{}
	put := func(path string) { s.do(t, request("PUT", path, "same")) }
	get := func(path string) *http.Response { return s.do(t, request("GET", path, "")) }
	modified := func() time.Time {
		fi, err := os.Stat(filepath.Join(s.root, "b"))
		if err != nil {
			t.Fatal(err)
		}
		return fi.ModTime()
	}
	for round := range 20 {
		for _, method := range []string{"COPY", "MOVE"} {
			put("/a")
			put("/b")
			if round%2 == 1 { // as one who copied it here with a clock that is ahead
				ahead := time.Now().Add(time.Hour)
				if err := os.Chtimes(filepath.Join(s.root, "b"), ahead, ahead); err != nil {
					t.Fatal(err)
				}
			}
			tags[get("/b").Header.Get("ETag")] = true
			before := modified()
			s.do(t, request(method, "/a", "", to("/b")...))
			tag := get("/b").Header.Get("ETag")
			if tags[tag] {
				t.Fatalf("%s: entity tag %s twice", method, tag)
			}
			tags[tag] = true
			if after := modified(); !after.After(before) {
				t.Fatalf("%s: %v is not after %v", method, after, before)
			}
		}
	}
	// A rename to a new name changes nothing.
	tag := get("/b").Header.Get("ETag")
	converse(t, s, []step{
		{method: "MOVE", path: "/b", header: to("/c"), status: 201},
		{method: "GET", path: "/c", header: []string{"If-None-Match: " + tag}, status: 304},
	})
}

// Hard links in the storage are separate objects.
func TestTransfersOfHardLinks(t *testing.T) {
	s := openDAV(t)
	s.do(t, request("PUT", "/a", "1"))
	for _, name := range []string{"b", "c"} {
		if err := os.Link(filepath.Join(s.root, "a"), filepath.Join(s.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	converse(t, s, []step{
		{method: "COPY", path: "/a", header: to("/b"), status: 204},
		{method: "PUT", path: "/b", body: "2", status: 204},
		{method: "MOVE", path: "/a", header: to("/c"), status: 204},
		{method: "GET", path: "/a", status: 404},
		{method: "GET", path: "/c", status: 200, answer: "1"},
	})
}

// Of many that make an object only if there is none, one does; and of many that
// move it away, one.
func TestOneOfMany(t *testing.T) {
	s := openDAV(t)
	const many = 100
	race := func(r func() *http.Request) map[int]int {
		var mu sync.Mutex
		statuses := map[int]int{}
		var wait sync.WaitGroup
		start := make(chan struct{})
		for range many {
			wait.Go(func() {
				<-start
				res, o, err := s.serve(r())
				if err != nil || o != fence.Definite {
					t.Errorf("%v %v", o, err)
					return
				}
				mu.Lock()
				statuses[res.StatusCode]++
				mu.Unlock()
			})
		}
		close(start)
		wait.Wait()
		return statuses
	}
	for _, c := range []struct {
		request  func() *http.Request
		one, all int
	}{
		{func() *http.Request { return request("PUT", "/a", "x", "If-None-Match: *") }, 201, 412},
		{func() *http.Request { return request("COPY", "/a", "", to("/b", "Overwrite: F")...) }, 201, 412},
		{func() *http.Request { return request("MOVE", "/a", "", to("/c")...) }, 201, 404},
		{func() *http.Request { return request("MKCOL", "/d", "") }, 201, 405},
		{func() *http.Request { return request("LOCK", "/e", lockBody("exclusive")) }, 201, 423},
	} {
		if got := race(c.request); got[c.one] != 1 || got[c.all] != many-1 {
			t.Errorf("%s: %v, want one %d and else %d", c.request().Method, got, c.one, c.all)
		}
	}
}
