package integration

import (
	"fmt"
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
	c := &speller{t: t, s: s.Server, root: s.Data}
	refused, lifted := 0, 0
	for _, p := range spellings {
		no, yes := s.spell(c, p)
		refused += no
		lifted += yes
		c.inIf(p)
	}
	all := len(spellings) * len(spelt)
	t.Logf("of %d requests with a lower token %d were refused; of as many with a higher one %d changed the object", all, refused, lifted)
	if refused < all/2 || lifted < all/5 {
		t.Error("so little is shown")
	}
}

// spell writes an object by another spelling in all ways: with a token below its
// own, and with one above.
func (s served) spell(c *speller, p spelling) (refused, lifted int) {
	c.t.Helper()
	dir, file := c.newObject(p.name, "10")
	name, host := at(p.name, dir, ""), strings.TrimPrefix(s.URL(), "http://")
	isFirst := func() bool {
		got, err := os.ReadFile(file)
		return err == nil && string(got) == "first"
	}
	send := func(way, token string) (status int, no bool) {
		c.must(os.WriteFile(filepath.Join(s.Data, dir, "src"), []byte("source"), 0o666)) // a MOVE takes it
		return c.send(host, c.request(p, way, dir, host, "spelt"), "X-Fencing-Token: "+token+"\n")
	}
	for i, way := range spelt {
		own, below, above := fmt.Sprint(10+10*i), fmt.Sprint(9+10*i), fmt.Sprint(20+10*i)
		status, no := send(way, below)
		if no {
			refused++
		}
		if !isFirst() {
			c.t.Errorf("%s, with token %s, is answered %d and changes %s, which has token %s", c.request(p, way, dir, host, ""), below, status, p.name, own)
		}
		if send(way, above); !isFirst() {
			lifted++
			if status := c.put(name, own, "late"); status != http.StatusPreconditionFailed {
				c.t.Errorf("%s changes %s with token %s, which is then written with token %s: %d", c.request(p, way, dir, host, ""), p.name, above, own, status)
			}
		}
		if status := c.put(name, above, "first"); status/100 != 2 {
			c.t.Fatalf("%s with token %s is answered %d", name, above, status)
		}
	}
	return refused, lifted
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
