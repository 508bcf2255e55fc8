package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/integration/harness"
)

// Somebody has put symbolic links and special files into the served directory.
// Shown: A4; no request gets through a link, to what is inside or outside, none
// waits for a FIFO, and what is told of them are refusals.
func TestOddFilesOverWebDAV(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	outside := t.TempDir()
	s.make(t, "5", "/d/", "/d/f", "/d/sub/", "/d/sub/g")
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	d := filepath.Join(s.Data, "d")
	for name, to := range map[string]string{"file": filepath.Join(outside, "secret"), "folder": outside, "in": "f", "below": "sub", "up": "..", "loop": "loop", "none": "/nowhere"} {
		if err := os.Symlink(to, filepath.Join(d, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(d, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(d, "sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	inside, beyond := s.contents(t), contentsOf(t, outside)
	const lock = "\n\n" + `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`
	for _, name := range []string{"file", "folder", "folder/", "folder/secret", "folder/new", "in", "below", "below/g", "below/new", "up", "up/d/f", "loop", "loop/x", "none", "none/x", "fifo", "fifo/x", "sock"} {
		at := "/d/" + name
		for _, r := range []string{
			"GET " + at, "GET " + at + "\nX-Fencing-Token: 6", "HEAD " + at, "PROPFIND " + at + "\nDepth: 0", "PROPFIND " + at + "\nDepth: 1",
			"PUT " + at + "\nX-Fencing-Token: 6\n\nlate", "MKCOL " + at, "PROPPATCH " + at + "\nX-Fencing-Token: 6\n\n" + propertyUpdate("late"), "LOCK " + at + "\nDepth: 0\nX-Fencing-Token: 6" + lock,
			"COPY " + at + "\nDestination: /copied\nX-Fencing-Token: 6", "COPY /d/f\nDestination: " + at + "\nX-Fencing-Token: 6", "MOVE /d/f\nDestination: " + at + "\nX-Fencing-Token: 6",
			"COPY /d/sub/\nDestination: " + at + "\nX-Fencing-Token: 6", "MOVE /d/sub/\nDestination: " + at + "\nX-Fencing-Token: 6",
			"MOVE " + at + "\nDestination: /moved\nX-Fencing-Token: 6", "DELETE " + at + "\nX-Fencing-Token: 6",
		} {
			a := ask(t, s.URL(), r)
			if a.status < 400 || a.status >= 500 || strings.Contains(a.body, "secret") && !strings.Contains(name, "secret") || strings.Contains(a.body, outside) {
				t.Errorf("%.60q is answered %v\n%s", r, a, a.body)
			}
		}
	}
	if now := s.contents(t); now != inside {
		t.Errorf("the store holds\n%s\nwant\n%s", now, inside)
	}
	// They are shown to nobody, are not copied, and go with their directory.
	listed := strings.Join(hrefsOf(t, asked(t, s.URL(), "207", "PROPFIND /d/\nDepth: 1").body), " ")
	if listed != "/d/ /d/f /d/sub/" && listed != "/d/ /d/sub/ /d/f" {
		t.Errorf("it lists %s", listed)
	}
	page := asked(t, s.URL(), "200", "GET /d/\nAccept: text/html").body
	for _, name := range []string{"fifo", "sock", "loop", "folder"} {
		if strings.Contains(page, name) {
			t.Errorf("the page shows %s:\n%s", name, page)
		}
	}
	asked(t, s.URL(), "403", "COPY /d\nDestination: /copied\nX-Fencing-Token: 7")
	asked(t, s.URL(), "201", "MOVE /d\nDestination: /e\nX-Fencing-Token: 7")
	asked(t, s.URL(), "204", "DELETE /e\nX-Fencing-Token: 7")
	s.isSwept(t)
	if now := contentsOf(t, outside); now != beyond {
		t.Errorf("outside is now\n%s\nwant\n%s", now, beyond)
	}
}

// The directory is on a file system that keeps no extended attributes. Shown: the
// start tells so; properties are answered 507, and all else works.
func TestDirectoryWithoutAttributes(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("only root may mount: run this as root, or with -short")
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command("bash", "-c", `set -e
mount --make-rprivate /
mkdir "$2/data"
mount -t ramfs ramfs "$2/data"
exec "$1" serve --upstream "dir:$2/data" --state "$2/state" --init --listen 127.0.0.1:0 --admin 127.0.0.1:0`, "bash", harness.Build(t), dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	p := harness.Start(t, "fencegate", cmd)
	var url string
	harness.Eventually(t, "it to serve", func() (any, bool) {
		for _, line := range p.Stderr() {
			if _, rest, ok := strings.Cut(line, `"msg":"serving","data":"`); ok {
				addr, _, _ := strings.Cut(rest, `"`)
				url = "http://" + addr
			}
		}
		return p.Stderr(), url != ""
	})
	said := strings.Join(p.Stderr(), "\n")
	if strings.Count(said, `"level":"WARN"`) != 1 || !strings.Contains(said, "keeps no extended attributes") || !strings.Contains(said, "PROPPATCH is answered 507") {
		t.Errorf("the start says\n%s", said)
	}
	asked(t, url, "201", "MKCOL /d/")
	asked(t, url, "201", "PUT /d/f\nX-Fencing-Token: 7\n\nv")
	for _, path := range []string{"/d/f", "/d/"} {
		a := asked(t, url, "207", "PROPPATCH "+path+"\nX-Fencing-Token: 7\n\n"+propertyUpdate("v"))
		if !strings.Contains(a.body, "HTTP/1.1 507 ") {
			t.Errorf("PROPPATCH %s says\n%s", path, a.body)
		}
	}
	asked(t, url, "204", "PUT /d/f\nX-Fencing-Token: 7\n\nw")
	asked(t, url, "207", "PROPFIND /d/\nDepth: 1")
	asked(t, url, "201", "COPY /d\nX-Fencing-Token: 7\nDestination: /e")
	asked(t, url, "204", "MOVE /d\nX-Fencing-Token: 7\nDestination: /e")
	asked(t, url, "412 stale_token", "DELETE /e\nX-Fencing-Token: 6")
	if a := asked(t, url, "200", "GET /e/f"); a.body != "w" {
		t.Errorf("it holds %q", a.body)
	}
	asked(t, url, "204", "DELETE /e\nX-Fencing-Token: 7")
	p.Signal(syscall.SIGTERM)
	wantCode(t, p, 0)
}

// A directory with its ledger has been served over protocol plain, is served over
// WebDAV from now on, and then again as before. Shown: S5, marks and floors hold
// on, and so do what the objects are and the entity tags by which clients know them.
func TestDirectoryChangesItsProtocol(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--protocol", "plain")
	url := s.URL()
	asked(t, url, "201", "PUT /a/b/c\nX-Fencing-Token: 10\nX-Fencing-Owner: first\n\nof 10")
	asked(t, url, "201", "PUT /gone/x\nX-Fencing-Token: 20\n\nof 20")
	asked(t, url, "204", "DELETE /gone\nX-Fencing-Token: 21")
	asked(t, url, "405 method_refused", "MKCOL /m/")
	tag := asked(t, url, "200", "GET /a/b/c").header.Get("ETag")
	// Killed with an upload on its way.
	u := startUpload(s, "/a/b/c", stampOf(11, "cut"))
	u.arrive(t, s, strings.Repeat("half", 10_000))
	s.Kill()
	u.body.Close()
	<-u.answer
	over := func(protocol ...string) *harness.Server {
		t.Helper()
		next := harness.Fencegate(t, append([]string{"--state", s.State, "--upstream", "dir:" + s.Data}, protocol...)...)
		next.Data = s.Data
		return next
	}

	dav := served{over("--protocol", "webdav")}
	url = dav.URL()
	dav.isSwept(t)
	if got := asked(t, url, "200", "GET /a/b/c").header.Get("ETag"); got != tag {
		t.Errorf("the entity tag is %s, was %s", got, tag)
	}
	if list := asked(t, url, "207", "PROPFIND /a/b/\nDepth: 1").body; !strings.Contains(list, strings.Trim(tag, `"`)) {
		t.Errorf("the tag %s is not in\n%s", tag, list)
	}
	asked(t, url, "412 stale_token", "PUT /a/b/c\nX-Fencing-Token: 10\n\nlate")
	asked(t, url, "409 tree_fenced", "DELETE /a\nX-Fencing-Token: 10")
	asked(t, url, "409 tree_fenced", "MOVE /a\nX-Fencing-Token: 10\nDestination: /z")
	asked(t, url, "412 stale_token", "MKCOL /gone/\nX-Fencing-Token: 20")
	asked(t, url, "201", "MKCOL /gone/")
	asked(t, url, "412 stale_token", "PUT /gone/y\nX-Fencing-Token: 20\n\nlate")
	asked(t, url, "201", "PUT /gone/y\nX-Fencing-Token: 21\n\nof 21")
	asked(t, url, "207", "PROPPATCH /a/b/c\nX-Fencing-Token: 11\n\n"+propertyUpdate("kept"))
	asked(t, url, "201", "MOVE /a/b\nX-Fencing-Token: 12\nDestination: /moved")
	if code := dav.Stop(); code != 0 {
		t.Errorf("it ends with %d", code)
	}

	plain := over("--protocol", "plain")
	url = plain.URL()
	asked(t, url, "412 stale_token", "PUT /a/b/c\nX-Fencing-Token: 11\n\nlate")
	asked(t, url, "412 stale_token", "PUT /moved/c\nX-Fencing-Token: 11\n\nlate")
	asked(t, url, "204", "PUT /moved/c\nX-Fencing-Token: 12\n\nof 12")
	asked(t, url, "405 method_refused", "PROPFIND /moved\nDepth: 1")
	if code := plain.Stop(); code != 0 {
		t.Errorf("it ends with %d", code)
	}
	dav = served{over("--protocol", "webdav")}
	asked(t, dav.URL(), "412 stale_token", "PROPPATCH /moved/c\nX-Fencing-Token: 11\n\n"+propertyUpdate("late"))
	if a := asked(t, dav.URL(), "200", "GET /moved/c"); a.body != "of 12" {
		t.Errorf("it holds %q", a.body)
	}
}
