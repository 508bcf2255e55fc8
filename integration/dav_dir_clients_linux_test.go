package integration

import (
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// Programs that know nothing of the fence put files into a directory that
// fencegate serves. Shown: what each policy says of them, by what is there then.
func TestWebDAVClientsOverADirectory(t *testing.T) {
	t.Parallel()
	type step struct {
		token string
		done  bool
	}
	for policy, steps := range map[string][]step{
		"require": {{"", false}, {"7", true}, {"6", false}, {"8", true}, {"7", false}},
		"observe": {{"", true}, {"7", true}, {"6", true}},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := serveDAV(t, "--policy", policy)
			for name, client := range davClients {
				for i, step := range steps {
					text := fmt.Sprint(name, " ", i)
					said := runs(t, client(t, s.Server, step.token, file(t, filepath.Join(t.TempDir(), "file"), text), "/"+name))
					held, err := os.ReadFile(filepath.Join(s.Data, name))
					if err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
					if done := string(held) == text; done != step.done {
						t.Errorf("%s, step %d with token %q: stored %v, want %v; it says\n%s", name, i, step.token, done, step.done, said)
					}
				}
			}
		})
	}
}

// rclone works on whole trees, with headers of its own. Shown: it copies, syncs,
// moves and lists, and a stale one changes nothing.
func TestRcloneOverADirectory(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	from := t.TempDir()
	for i := range 12 {
		file(t, fmt.Sprintf("%s/d%d/\u00e4 %d+%%", from, i%3, i), fmt.Sprint("content ", i))
	}
	rclone := func(token string, args ...string) string {
		t.Helper()
		return runs(t, exec.Command("rclone", append([]string{"--config", "/dev/null", "--retries", "1", "--low-level-retries", "1",
			"--webdav-url", s.URL(), "--webdav-vendor", "other", "--webdav-headers", "X-Fencing-Token," + token}, args...)...))
	}
	done := func(said string) string {
		t.Helper()
		said, ok := strings.CutSuffix(said, "\n<nil>")
		if !ok {
			t.Fatal(said)
		}
		return said
	}
	done(rclone("7", "copy", from, ":webdav:b/c"))
	if got, want := contentOnly(t, filepath.Join(s.Data, "b/c")), contentOnly(t, from); got != want {
		t.Errorf("after a copy there is\n%s\nwant\n%s", got, want)
	}
	if err := os.RemoveAll(filepath.Join(from, "d1")); err != nil {
		t.Fatal(err)
	}
	file(t, from+"/d0/new", "new")
	file(t, fmt.Sprintf("%s/d0/\u00e4 0+%%", from), "longer than it was")
	done(rclone("7", "sync", from, ":webdav:b/c"))
	if got, want := contentOnly(t, filepath.Join(s.Data, "b/c")), contentOnly(t, from); got != want {
		t.Errorf("after a sync there is\n%s\nwant\n%s", got, want)
	}
	done(rclone("7", "moveto", ":webdav:b/c/d0", ":webdav:b/moved"))
	done(rclone("7", "copyto", ":webdav:b/moved/new", ":webdav:b/copied"))
	done(rclone("7", "check", filepath.Join(from, "d2"), ":webdav:b/c/d2", "--download"))
	if got := done(rclone("7", "lsf", "-R", "--files-only", ":webdav:b")); strings.Count(got, "\n") != 10 || !strings.Contains(got, "moved/\u00e4 0+%") {
		t.Errorf("it lists\n%s", got)
	}
	asked(t, s.URL(), "200", "POST /.well-known/fencegate/claims\nContent-Type: application/json\n\n"+`{"resource":"/b","token":"9","tree":true}`)
	before := s.contents(t)
	for _, args := range [][]string{
		{"sync", from, ":webdav:b/c"}, {"copy", from, ":webdav:b/new"}, {"moveto", ":webdav:b/moved", ":webdav:b/late"}, {"copyto", ":webdav:b/copied", ":webdav:b/late"},
		{"deletefile", ":webdav:b/copied"}, {"purge", ":webdav:b"}, {"move", from, ":webdav:b"},
	} {
		if said := rclone("8", args...); strings.HasSuffix(said, "\n<nil>") {
			t.Errorf("a stale %q ends well", args)
		}
	}
	if now := s.contents(t); now != before {
		t.Errorf("the store holds\n%s\nwant\n%s", now, before)
	}
	if _, err := os.Stat(from + "/d0/new"); err != nil {
		t.Errorf("a move that was refused has removed its source: %v", err)
	}
	done(rclone("9", "purge", ":webdav:b"))
	s.isSwept(t)
}

// contentOnly tells which files there are, and what is in them.
func contentOnly(t *testing.T, root string) (all string) {
	t.Helper()
	for line := range strings.Lines(contentsOf(t, root)) {
		name, rest, _ := strings.Cut(line, " -")
		if rest != "" { // no directory
			_, text, _ := strings.Cut(rest, ` "`)
			all += name + ` "` + text
		}
	}
	return all
}

// clientsScript works below $AT with clients that are given nothing but that URL.
const clientsScript = `
set -e
AT="$FENCEGATE_URL/team%20a"
cd "$DIR"
echo one > one
curl -fsS -X MKCOL "$AT/curl/"
curl -fsS -T one "$AT/curl/one"
curl -fsS -X MOVE -H "Destination: $AT/curl/two" "$AT/curl/one"
curl -fsS "$AT/curl/two" | cmp - one
curl -fsS "$AT/curl/" | grep -q '<a href="[^"]*two">'

cadaver --rcfile=/dev/null "$AT/" > cadaver.out <<END
mkcol cadaver
cd cadaver
put one
copy one two
move two three
propset three colour blue
propget three colour
lock three
put one three
unlock three
mkcol sub
put one sub/deep
copy sub copied
delete one
rmcol sub
ls
get copied/deep got
quit
END
cmp one got
grep -q 'Value of colour is: blue' cadaver.out
! grep -i 'failed' cadaver.out

mkdir -p tree/a
echo x > "tree/a/with blank"
echo y > tree/b
rc() { rclone --config /dev/null --retries 1 --webdav-url "$AT" --webdav-vendor other "$@"; }
rc copy tree :webdav:rclone
rm tree/b
rc sync tree :webdav:rclone
rc moveto :webdav:rclone/a :webdav:rclone/moved
rc lsf -R :webdav:rclone
`

// The same clients get their token from FENCEGATE_URL. Shown: they find their way
// there and back, and what they have done has the lock's token.
func TestClientsBehindTheHelper(t *testing.T) {
	t.Parallel()
	s := newScene(t, "--protocol", "webdav")
	d := served{s.fence}
	asked(t, s.fence.URL(), "201", "MKCOL /team a/")
	cmd := s.lockCommand("-r", "/team a", "--tree", "--", "bash", "-c", clientsScript)
	dir := t.TempDir()
	cmd.Env = append(cmd.Environ(), "DIR="+dir, "HOME="+dir)
	p := harness.Start(t, "clients", cmd)
	<-p.Exited()
	said, _ := os.ReadFile(filepath.Join(dir, "cadaver.out"))
	if code := p.Wait(); code != 0 {
		t.Fatalf("the clients end with %d: %q\n%s", code, p.Stderr(), said)
	}
	if got := strings.Join(p.Stdout(), " "); got != "moved/ moved/with blank" {
		t.Errorf("rclone lists %q", got)
	}
	const want = `/cadaver/copied/deep "one\n"
/cadaver/three "one\n" with "<`
	if got := contentOnly(t, filepath.Join(d.Data, "team a")); !strings.HasPrefix(got, want) || !strings.Contains(got, "blue") ||
		!strings.HasSuffix(got, "/curl/two \"one\\n\"\n/rclone/moved/with blank \"x\\n\"\n") || strings.Count(got, "\n") != 4 {
		t.Errorf("the store holds\n%s", got)
	}
	if rejected := s.fence.Metrics().Counter("fencegate_rejections_total"); rejected != 0 {
		t.Errorf("%v requests were refused", rejected)
	}
	if m := markOf(t, s.fence, "/team%20a/cadaver/one"); m.Via != "floor" || m.Token == "0" {
		t.Errorf("the mark is %+v", m)
	}
	d.isSwept(t)
}

// A file system is mounted over a directory that fencegate serves. Shown: files
// are written with the token of the mount's configuration, and with that of
// FENCEGATE_URL and locks of WebDAV; a stale holder changes nothing.
func TestMountedDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Fatalf("a mount needs root and /dev/fuse (%v): provide them, or run this with -short", err)
	}
	t.Parallel()
	s := newScene(t, "--protocol", "webdav")
	d := served{s.fence}
	d.make(t, "1", "/m/", "/n/")
	const noLocks = "use_locks 0\nadd_header X-Fencing-Token "
	const work = "mkdir d && echo one > d/a && echo two > d/b && mv d/b 'd/c e' && mv d e && rm e/a && cat 'e/c e' && test ! -e e/a && echo done"
	if said := mounted(t, d.URL()+"/n", noLocks+"7", work); said != "two\ndone\n" {
		t.Errorf("the commands say %q", said)
	}
	h := help(t, s.redis.Addr(), d.URL(), "-r", "/m", "--tree")
	if said := mounted(t, h.url+"/m", "use_locks 1", work); said != "two\ndone\n" {
		t.Errorf("behind FENCEGATE_URL the commands say %q", said)
	}
	for _, path := range []string{"m/e", "n/e"} {
		if got, want := contentOnly(t, filepath.Join(d.Data, path)), "/c e \"two\\n\"\n"; got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if m := markOf(t, s.fence, "/m/e"); m.Token != h.token {
		t.Errorf("the mark is %+v, want that of %s", m, h.token)
	}
	asked(t, d.URL(), "200", "POST /.well-known/fencegate/claims\nContent-Type: application/json\n\n"+`{"resource":"/n","token":"9","tree":true}`)
	before := d.contents(t)
	const late = "mkdir e/dir; echo late > e/new; rm 'e/c e'; mv 'e/c e' e/d; mv e late; rm -r e; true"
	t.Logf("the late holder is told %q", mounted(t, d.URL()+"/n", noLocks+"8", late))
	if now := d.contents(t); now != before {
		t.Errorf("the store holds\n%s\nwant\n%s", now, before)
	}
	h.done()
}

// A person looks at it with a browser. Shown: folders are pages, with links that
// lead on, and names in them are text, not markup.
func TestBrowsingADirectory(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	s.make(t, "5", "/d/")
	for _, name := range []string{"a b.txt", "<script>alert(1)</script>", "\"quoted\" & more", "%41", "javascript:alert(1)", "\u65e5\u672c"} {
		if err := os.WriteFile(filepath.Join(s.Data, "d", strings.ReplaceAll(name, "/", "|")), []byte("it is "+name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const browser = "\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\nUser-Agent: Mozilla/5.0\nSec-Fetch-Mode: navigate"
	for _, at := range []string{"/d/", "/d"} { // relative links lead elsewhere without the slash
		a := asked(t, s.URL(), "200", "GET "+at+browser)
		if kind := a.header.Get("Content-Type"); kind != "text/html; charset=utf-8" || strings.Contains(a.body, "<script") || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the page is %s\n%s", kind, a.body)
		}
		page, err := url.Parse(s.URL() + at)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, href := range linksOf(a.body) {
			to, err := page.Parse(href)
			if err != nil {
				t.Fatal(err)
			}
			b := asked(t, s.URL(), "200", "GET "+to.EscapedPath()+browser)
			switch {
			case strings.HasPrefix(b.body, "it is "):
				read++
			case to.Path != "/": // up
				t.Errorf("%s leads to %q", href, b.body)
			}
		}
		if read != 6 {
			t.Errorf("%d links of %s lead to files, want 6:\n%s", read, at, a.body)
		}
		if h := asked(t, s.URL(), "200", "HEAD "+at+browser); h.header.Get("Content-Type") != "text/html; charset=utf-8" || h.body != "" {
			t.Errorf("HEAD says %v", h.header)
		}
	}
	a := asked(t, s.URL(), "200", "GET /d/\"quoted\" & more"+browser) // what is stored, as what it is
	if kind := a.header.Get("Content-Type"); strings.Contains(kind, "html") {
		t.Errorf("a file without an ending is %s", kind)
	}
}

func linksOf(page string) (hrefs []string) {
	for _, rest := range strings.Split(page, `href="`)[1:] {
		href, _, _ := strings.Cut(rest, `"`)
		hrefs = append(hrefs, html.UnescapeString(href))
	}
	return hrefs
}
