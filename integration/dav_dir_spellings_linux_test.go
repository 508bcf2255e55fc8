package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A directory served over WebDAV is written by names in all spellings, as a path
// and in Destination. Shown: A4 with S1; what changes an object lifts the mark
// that the object's own name has, and what is below its mark changes nothing.
func TestSpellingsOverADirectory(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	c := &speller{t: t, s: s.Server, root: s.Data, ways: spelt}
	c.all()
	if len(c.refused) < len(spellings)*len(c.ways)/2 {
		t.Errorf("only %d requests were refused", len(c.refused))
	}
	lifted := 0
	for _, p := range spellings {
		for _, way := range spelt[1:] { // PUT has been
			if s.lifts(c, p, way) {
				lifted++
			}
		}
		c.inIf(p)
	}
	t.Logf("%d spellings with a higher token changed the object", lifted)
	if lifted < len(spellings)/4 {
		t.Errorf("only %d spellings changed the object, so little is shown", lifted)
	}
}

// lifts writes by a spelling with a token above that of the name, and reports
// whether that was the object. Then the name is fenced.
func (s served) lifts(c *speller, p spelling, way string) bool {
	c.t.Helper()
	dir, file := c.newObject(p.name, "5")
	host := strings.TrimPrefix(s.URL(), "http://")
	c.send(host, c.request(p, way, dir, host, "lifts"), "X-Fencing-Token: 10\n")
	if got, err := os.ReadFile(file); err == nil && string(got) == "first" {
		return false
	}
	if status := c.put(at(p.name, dir, ""), "7", "late"); status != http.StatusPreconditionFailed {
		c.t.Errorf("%s changes %s with token 10, which is then written with token 7: %d", c.request(p, way, dir, host, ""), p.name, status)
	}
	return true
}

// The names of files that somebody else has put there are not all names that
// fencegate takes, and some of those that it takes have one fence. Shown: what
// is told in a listing can be asked for, and one fence holds for both.
func TestNamesOnDiskOverWebDAV(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	d := filepath.Join(s.Data, "d")
	if err := os.Mkdir(d, 0o777); err != nil {
		t.Fatal(err)
	}
	names := []string{"\u00e9", "e\u0301", "a b", "a+b", "a%20b", "a%b", "a#b", "a?b", "a;b", "a\\b", "a:b", "<&>'\"", "a\nb", "\x7f", "a\xffb", ".hidden", "...", " ", "+", "A", "a", "\ufffd"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(d, name), []byte(strconv.QuoteToASCII(name)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	held := map[string]bool{}
	for _, href := range hrefsOf(t, asked(t, s.URL(), "207", "PROPFIND /d/\nDepth: 1").body) {
		w := dial(t, s.Server)
		w.send("GET " + href + " HTTP/1.1\nHost: x\nConnection: close\n\n")
		a, err := w.next("GET")
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case href == "/d/":
		case a.status == http.StatusOK && !held[a.body]:
			held[a.body] = true
		case a.String() == "400 path_ambiguous" && (strings.Contains(href, "%3B") || strings.Contains(href, "%5C") || strings.Contains(href, ";")):
		default:
			t.Errorf("%s is listed, and then answered %v", href, a)
		}
	}
	if len(held) != len(names)-5 { // ";", "\", two with control characters, one that is not UTF-8
		t.Errorf("%d of %d names can be read: %v", len(held), len(names), held)
	}
	// Two files, one fence.
	asked(t, s.URL(), "204", "PUT /d/\u00e9\nX-Fencing-Token: 10\n\nv")
	asked(t, s.URL(), "412 stale_token", "PUT /d/e\u0301\nX-Fencing-Token: 9\n\nv")
	asked(t, s.URL(), "412 stale_token", "COPY /d/a\nDestination: /d/e%CC%81\nX-Fencing-Token: 9")
	if got, err := os.ReadFile(filepath.Join(d, "e\u0301")); err != nil || string(got) != `"e\u0301"` {
		t.Errorf("the other file holds %s, %v", got, err)
	}
}
