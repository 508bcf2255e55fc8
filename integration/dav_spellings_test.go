package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// A spelling is another way to write a name. Where "/" begins neither, they are
// in a directory of their own, {d}; {h} is the host and port that is asked.
type spelling struct{ name, other string }

// spellings of which some server is known, or may be thought, to make the same
// object.
var spellings = slices.Concat(
	othersOf("obj.txt",
		"obj.txt", "%6Fbj.txt", "%6fbj.txt", "o%62j.txt", "obj%2Etxt", "obj%2etxt", "%6F%62%6A%2E%74%78%74", "/{d%}/obj.txt",
		"%256Fbj.txt", "obj%252Etxt", "%25%36Fbj.txt", // decoded twice
		"/{d}%2Fobj.txt", "/{d}%2fobj.txt", "/{d}%252Fobj.txt", "/{d}%5Cobj.txt", `/{d}\obj.txt`, "/{d}%EF%BC%8Fobj.txt", "/{d}%E2%88%95obj.txt",
		"/{d}//obj.txt", "//{d}/obj.txt", "///{d}/obj.txt", "obj.txt/", "obj.txt//", "obj.txt/.", "obj.txt%2F", "obj.txt/%2E", "obj.txt%5C",
		"/./{d}/obj.txt", "./obj.txt", "/%2e/{d}/obj.txt", "%2E/obj.txt", "sub/../obj.txt", "sub/%2e%2E/obj.txt", "sub/.%2e/obj.txt",
		"/{d}/../{d}/obj.txt", "no/../obj.txt", "..;/{d}/obj.txt", "sub/..%2Fobj.txt", "sub/..%5Cobj.txt", "sub/%252e%252e/obj.txt", "sub/...//obj.txt",
		"obj.txt;x=1", "obj.txt;", "obj.txt%3B", "obj.txt%3Bx=1", "/{d};x=1/obj.txt", "obj.txt%CD%BE", "obj.txt\u037e", ";/obj.txt",
		"OBJ.TXT", "Obj.txt", "obj.TXT", "%4Fbj.txt", "obj.tx%E1%9A%80t", "%EF%BD%8Fbj.txt", "ob\u006A.txt",
		"%C1%AFbj.txt", "%E0%81%AFbj.txt", "%C0%AE/obj.txt", "sub/%C0%AE%C0%AE/obj.txt", "/{d}%C0%AFobj.txt", "%F0%80%81%AFbj.txt", "obj.txt%FF", "obj.txt\xff",
		"obj.txt%00", "obj.txt%00.gz", "%00obj.txt", "obj.txt%0A", "obj.txt%0D%0A", "obj.txt%09", "obj.txt%7F", "obj.txt%1F", "obj.txt%C2%85", "obj.txt\t", "obj.txt\x01",
		"obj.txt#x", "obj.txt#", "obj.txt%23", "obj.txt%23x", "obj.txt?", "obj.txt?x=1", "obj.txt%3F", "obj.txt%3Fx=1", "obj.txt?x;y",
		"obj.txt%20", "%20obj.txt", "obj.txt ", "obj.txt+", "obj.txt.", "obj.txt%2E", "obj.txt%3A%3A$DATA", "OBJ~1.TXT", "obj.txt%E2%80%8B", "%EF%BB%BFobj.txt", "o%C2%ADbj.txt",
		"obj.txt/extra", "obj.txt/index.html", "obj%E2%80%A4txt", "obj.%", "obj.txt%", "%6", "%zzobj.txt", "%u006Fbj.txt", "&#111;bj.txt",
		"http://{h}/{d}/obj.txt", "HTTP://{h}/{d}/obj.txt", "http://{h}//{d}/obj.txt", "http://{h}/./{d}/obj.txt", "http://elsewhere/{d}/obj.txt", "http://u@{h}/{d}/obj.txt",
		"http:/{d}/obj.txt", "{d}/obj.txt", "ftp://{h}/{d}/obj.txt",
		strings.Repeat("./", 2000)+"obj.txt", strings.Repeat("x", 250)+strings.Repeat("/..", 1)+"/obj.txt", "/{d}"+strings.Repeat("/", 4000)+"obj.txt", strings.Repeat("%6F", 1500),
	),
	othersOf("a%20b", "a%20b", "a+b", "a%2Bb", "a b", "a%2520b", "a%C2%A0b", "a%E3%80%80b", "%61%20%62"),
	othersOf("a+b", "a+b", "a%2Bb", "a%2bb", "a%20b", "a%252Bb"),
	othersOf("%C3%A9", "%c3%a9", "\u00e9", "e%CC%81", "e\u0301", "%C3%89", "%E9", "%25C3%25A9", "%65%CC%81", "%C3%A9%CC%80"),
	othersOf("e%CC%81", "\u00e9", "%C3%A9", "%65%cc%81"), // normalised by the fence, not by the store
	othersOf("K", "%E2%84%AA", "\u212a", "k", "%4B"),
	othersOf("%EA%B0%80", "%E1%84%80%E1%85%A1", "\uac00"),
	othersOf("%E2%84%AB", "%C3%85", "A%CC%8A", "%e2%84%ab"),
	othersOf("a!$&'()*,:=@b", "a%21%24%26%27%28%29%2A%2C%3A%3D%40b", "a!$&'()*,:=%40b", "a!$%26'()*,:=@b"),
	othersOf("a%25b", "a%25b", "a%2525b", "a%b", "%61%25b"),
	othersOf("a%23b", "a#b", "a%2523b", "%61%23b", "a"),
	othersOf("a%3Fb", "a?b", "a%253Fb", "%61%3fb", "a"),
	othersOf("a~1-_.b", "a%7E1-_.b", "a%7e1%2D%5F%2Eb", "A~1-_.B"),
	othersOf("a%7Cb%5E%60%7B%7D%22%3C%3E", "a|b^`{}%22%3C%3E", "a%7cb%5e%60%7b%7d%22%3c%3e"),
)

func othersOf(name string, others ...string) (all []spelling) {
	for _, o := range others {
		all = append(all, spelling{name, o})
	}
	return all
}

// at returns how the spelling is written in a directory and for a host.
func at(text, dir, host string) string {
	if !strings.Contains(text, "{d") {
		text = "/{d}/" + text
	}
	escaped := ""
	for _, c := range []byte(dir) {
		escaped += fmt.Sprintf("%%%02X", c)
	}
	return strings.NewReplacer("{d}", dir, "{d%}", escaped, "{h}", host).Replace(text)
}

// spelt are the ways in which a request says the other name. {b} is it, {m} is in
// the query and so in the store's log.
var spelt = []string{
	"PUT {b}?{m}\nContent-Length: 5\n\nother",
	"DELETE {b}?{m}\n\n",
	"MOVE {b}?{m}\nDestination: http://{h}/{d}/moved\n\n",
	"MOVE /{d}/src?{m}\nDestination: {to}\n\n",
	"COPY /{d}/src?{m}\nDestination: {to}\n\n",
}

// One name is written in many ways. Shown: A4 with S1; a way that could mean an
// object with another fence is refused before anything is sent, and every other
// is judged by the fence of the object that it means to the store.
func TestSpellings(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		s := davFence(t, store)
		c := &speller{t: t, s: s, root: store.Root(), direct: store.Addr(), ways: spelt}
		c.all()
		c.notSent(store)
		for _, p := range spellings {
			c.inIf(p)
		}
	})
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		s := harness.Fencegate(t)
		c := &speller{t: t, s: s, root: s.Data, ways: spelt[:2]}
		c.all()
	})
}

// speller tries spellings and remembers what came of them.
type speller struct {
	t       *testing.T
	s       *harness.Server
	root    string
	direct  string // the store's address; "" if only fencegate can ask it
	ways    []string
	tried   int
	same    int             // which were the same object for the store
	refused map[string]bool // what was in the query of those that fencegate refused
}

func (c *speller) all() {
	c.t.Helper()
	c.refused = map[string]bool{}
	for _, p := range spellings {
		for _, way := range c.ways {
			c.try(p, way)
		}
		c.rises(p)
	}
	c.t.Logf("%d spellings, %d requests, %d of them refused by fencegate; for the store itself %d meant the same object", len(spellings), c.tried, len(c.refused), c.same)
	if c.direct != "" && c.same < len(spellings)/4 {
		c.t.Errorf("only %d spellings meant the same object, so little is shown", c.same)
	}
}

// newObject stores one through fencegate with a token, in a directory of its own.
func (c *speller) newObject(name, token string) (dir, path string) {
	c.t.Helper()
	c.tried++
	dir = fmt.Sprint("dir", c.tried)
	for _, d := range []string{dir, dir + "/sub"} {
		c.must(os.Mkdir(filepath.Join(c.root, d), 0o777))
		c.must(os.Chmod(filepath.Join(c.root, d), 0o777))
	}
	c.must(os.WriteFile(filepath.Join(c.root, dir, "src"), []byte("source"), 0o666))
	if status := c.put(at(name, dir, ""), token, "first"); status/100 != 2 {
		c.t.Fatalf("%s with token %s is answered %d", name, token, status)
	}
	objects, err := filepath.Glob(filepath.Join(c.root, dir, "*"))
	for _, o := range objects {
		if base := filepath.Base(o); base != "src" && base != "sub" {
			return dir, o
		}
	}
	c.t.Fatalf("%s is not in %q, %v", name, objects, err)
	return "", ""
}

func (c *speller) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// try writes with token 10 by the name, and with token 5 by the spelling. Then it
// asks the store itself, with that one, what it takes it for.
func (c *speller) try(p spelling, way string) {
	c.t.Helper()
	dir, file := c.newObject(p.name, "10")
	mark := fmt.Sprint("m=", c.tried)
	host := strings.TrimPrefix(c.s.URL(), "http://")
	status, refused := c.send(host, c.request(p, way, dir, host, mark), "X-Fencing-Token: 5\n")
	if got, err := os.ReadFile(file); err != nil || string(got) != "first" {
		c.t.Errorf("%s, with token 5, is answered %d and changes %s, which has token 10, to %q, %v", c.request(p, way, dir, host, ""), status, p.name, got, err)
	}
	if refused {
		c.refused[mark] = true
	}
	if c.direct == "" {
		return
	}
	c.send(c.direct, c.request(p, way, dir, c.direct, "direct"), "")
	if got, err := os.ReadFile(file); err != nil || string(got) != "first" {
		c.same++
		if !refused {
			c.t.Errorf("%s is the same object for the store, and passes: %d", c.request(p, way, dir, c.direct, ""), status)
		}
	}
}

// rises writes by the spelling first. If that is the object, the name is fenced.
func (c *speller) rises(p spelling) {
	c.t.Helper()
	dir, file := c.newObject(p.name, "5")
	host := strings.TrimPrefix(c.s.URL(), "http://")
	c.send(host, c.request(p, spelt[0], dir, host, "rises"), "X-Fencing-Token: 10\n")
	if got, err := os.ReadFile(file); err == nil && string(got) == "other" {
		if status := c.put(at(p.name, dir, ""), "7", "late"); status != http.StatusPreconditionFailed {
			c.t.Errorf("%s is written as %q with token 10, and then by its name with token 7: %d", p.name, p.other, status)
		}
	}
}

func (c *speller) request(p spelling, way, dir, host, mark string) string {
	other := at(p.other, dir, host)
	to := other
	if strings.HasPrefix(other, "/") {
		to = "http://" + host + other
	}
	if strings.Contains(other, "?") {
		way = strings.Replace(way, "{b}?", "{b}&", 1)
	}
	return strings.NewReplacer("{b}", other, "{to}", to, "{d}", dir, "{h}", host, "{m}", mark).Replace(way)
}

// put writes an object by its own name.
func (c *speller) put(path, token, text string) (status int) {
	c.t.Helper()
	host := strings.TrimPrefix(c.s.URL(), "http://")
	status, _ = c.send(host, fmt.Sprintf("PUT %s?put\nContent-Length: %d\n\n%s", path, len(text), text), "X-Fencing-Token: "+token+"\n")
	return status
}

// send sends a request as it is and returns how it was answered, and whether
// that was by fencegate, which unlike the stores names no Server.
func (c *speller) send(host, text, header string) (status int, refused bool) {
	c.t.Helper()
	line, rest, _ := strings.Cut(text, "\n")
	w := dialAddr(c.t, host)
	defer w.Close()
	w.send(line + " HTTP/1.1\nHost: " + host + "\nConnection: close\n" + header + rest)
	method, _, _ := strings.Cut(line, " ")
	a, err := w.next(method)
	if err != nil {
		c.t.Fatalf("%q: %v", text, err)
	}
	return a.status, a.header.Get("X-Fencing-Reason") != "" || a.status == http.StatusBadRequest && a.header.Get("Server") == ""
}

// notSent checks that the store has seen nothing of what was refused.
func (c *speller) notSent(store davStore) {
	c.t.Helper()
	c.send(c.direct, "GET /?last\n\n", "")
	var lines []string
	harness.Eventually(c.t, "the store to log the last request", func() (any, bool) {
		lines = store.Requests()
		return len(lines), slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "?last") })
	})
	for _, l := range lines {
		line := strings.TrimSuffix(l, " HTTP/1.1")
		for _, m := range strings.FieldsFunc(line, func(r rune) bool { return r == '?' || r == '&' }) {
			if c.refused[m] {
				c.t.Errorf("the store was sent %q, which fencegate answered by itself", line)
			}
		}
	}
	if len(c.refused) < len(spellings)*len(c.ways)/2 {
		c.t.Errorf("only %d requests were refused", len(c.refused))
	}
}

// inIf names the object in a condition. What is refused as a path is refused
// there too.
func (c *speller) inIf(p spelling) {
	c.t.Helper()
	host := strings.TrimPrefix(c.s.URL(), "http://")
	other := at(p.other, "cond", host)
	_, asPath := c.send(host, "PROPFIND "+other+"\nDepth: 0\n\n", "")
	if strings.HasPrefix(other, "/") {
		other = "http://" + host + other
	}
	status, inIf := c.send(host, "PROPFIND /\nDepth: 0\nIf: <"+other+"> (Not <DAV:no-lock>)\n\n", "")
	if asPath && !inIf {
		c.t.Errorf("%q is refused as a path, and in If the store answers it with %d", other, status)
	}
}
