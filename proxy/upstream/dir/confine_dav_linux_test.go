package dir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// What is refused of COPY and MOVE leaves everything as it was; and nothing shows
// or reaches what is not served.
func TestDAVConfinement(t *testing.T) {
	outside := t.TempDir()
	fill(t, outside, "secret/file secret")
	s := openDAV(t)
	fill(t, s.root, "f 1", "d/a 2", "links/a 3", "links/deep/b 4", "fifos/a 5", "fifos/deep/b 6")
	link := func(target, at string) {
		if err := os.Symlink(target, filepath.Join(s.root, at)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(outside, "secret"), "out")
	link(filepath.Join(outside, "secret/file"), "links/deep/out")
	link("d", "alias")
	link("../../d/a", "links/deep/inside")
	if err := syscall.Mkfifo(filepath.Join(s.root, "fifos/deep/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	const link404, fifo = "symbolic link", "special file"
	converse(t, s, []step{
		{method: "COPY", path: "/out", header: to("/new"), status: 404, answer: link404},
		{method: "COPY", path: "/out/file", header: to("/new"), status: 404, answer: link404},
		{method: "COPY", path: "/alias/a", header: to("/new"), status: 404, answer: link404},
		{method: "COPY", path: "/links", header: to("/new"), status: 403, answer: "/links/deep/"},
		{method: "COPY", path: "/links", header: to("/d"), status: 403, answer: link404},
		{method: "COPY", path: "/fifos", header: to("/new"), status: 403, answer: fifo},
		{method: "COPY", path: "/f", header: to("/out"), status: 403, answer: link404},
		{method: "COPY", path: "/f", header: to("/out/new"), status: 403, answer: link404},
		{method: "COPY", path: "/f", header: to("/alias/new"), status: 403, answer: link404},
		{method: "COPY", path: "/f", header: to("/fifos/deep/fifo"), status: 403, answer: fifo},
		{method: "MOVE", path: "/out", header: to("/new"), status: 403, answer: link404},
		{method: "MOVE", path: "/out/file", header: to("/new"), status: 403, answer: link404},
		{method: "MOVE", path: "/fifos/deep/fifo", header: to("/new"), status: 403, answer: fifo},
		{method: "MOVE", path: "/f", header: to("/out/new"), status: 403, answer: link404},
		{method: "MOVE", path: "/f", header: to("/out"), status: 403, answer: link404},
		{method: "MOVE", path: "/.fencegate/lock", header: to("/new"), status: 403, answer: textReserved},
		{method: "COPY", path: "/.fencegate/lock", header: to("/new"), status: 404, answer: textNotFound},
		{method: "MKCOL", path: "/.fencegate/new", status: 403, answer: textReserved},
		{method: "MKCOL", path: "/alias/new", status: 403, answer: link404},
		{method: "MKCOL", path: "/out", status: 403, answer: link404},
		{method: "LOCK", path: "/out/new", body: lockBody("exclusive"), status: 403, answer: link404},
		{method: "PROPPATCH", path: "/out/file", body: set("p", "1"), status: 404, answer: link404},
		{method: "PROPPATCH", path: "/fifos/deep/fifo", body: set("p", "1"), status: 404, answer: fifo},
		{method: "PROPFIND", path: "/out", header: depth1, status: 404, answer: link404},
		{method: "PROPFIND", path: "/fifos/deep/fifo", header: depth0, status: 404, answer: fifo},
		{method: "GET", path: "/alias/", status: 404, answer: link404},
	})
	for path, want := range map[string]string{"f": "=1", "d": "/ /a=2", "new": ""} {
		if got := tree(t, s.root, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if got := tree(t, outside, "."); got != "/ /secret/ /secret/file=secret" {
		t.Errorf("outside: %q", got)
	}
	for _, path := range []string{"/", "/links/deep/", "/fifos/deep/"} {
		listed := text(t, s.do(t, request("PROPFIND", path, "", depth1...))) + text(t, s.do(t, request("GET", path, "")))
		for _, hidden := range []string{area, "out", "alias", "inside", "fifo<"} {
			if strings.Contains(listed, hidden) {
				t.Errorf("%s shows %s:\n%s", path, hidden, listed)
			}
		}
	}
	// A tree with links in it is moved whole: they are in it as they were.
	converse(t, s, []step{
		{method: "MOVE", path: "/links", header: to("/moved"), status: 201},
		{method: "GET", path: "/moved/deep/out", status: 404, answer: link404},
	})
}

// COPY and MOVE do not pass from one file system to another, and none is shown.
func TestDAVMountPoints(t *testing.T) {
	needRoot(t)
	s := openDAV(t)
	fill(t, s.root, "f 1", "d/a 2", "d/mounted/below 3")
	mount(t, "tmpfs", filepath.Join(s.root, "d/mounted"), "tmpfs", 0, "size=1m")
	fill(t, s.root, "d/mounted/x 4")
	converse(t, s, []step{
		{method: "MOVE", path: "/f", header: to("/d/mounted/f"), status: 403, answer: "another file system"},
		{method: "COPY", path: "/f", header: to("/d/mounted/f"), status: 403, answer: "another file system"},
		{method: "MOVE", path: "/d/mounted/x", header: to("/x"), status: 403, answer: "another file system"},
		{method: "COPY", path: "/d/mounted/x", header: to("/x"), status: 404, answer: "mount point"},
		{method: "MOVE", path: "/d/mounted", header: to("/x"), status: 403},
		{method: "MOVE", path: "/f", header: to("/d/mounted"), status: 403},
		{method: "COPY", path: "/d", header: to("/x"), status: 403},
		{method: "MKCOL", path: "/d/mounted/new", status: 403},
	})
	listed := text(t, s.do(t, request("PROPFIND", "/d", "", depth1...)))
	if strings.Contains(listed, "mounted") {
		t.Errorf("it shows the mount point:\n%s", listed)
	}
	if got := tree(t, s.root, "x") + tree(t, s.root, "f"); got != "=1" {
		t.Errorf("x and f: %q", got)
	}
}

// A COPY that does not fit is 507, and changes nothing.
func TestDAVNoSpace(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	mount(t, "tmpfs", root, "tmpfs", 0, "size=1m,nr_inodes=30")
	s := openWith(t, root, Options{WebDAV: true})
	fill(t, root, "s/a 1", "s/big "+strings.Repeat("x", 600<<10), "d/a old", "f "+strings.Repeat("f", 200<<10))
	old := tree(t, root, "d")
	converse(t, s, []step{
		{method: "COPY", path: "/s", header: to("/d"), status: 507, answer: "no space"},
		{method: "COPY", path: "/s", header: to("/new"), status: 507},
		{method: "COPY", path: "/s/big", header: to("/d/a"), status: 507},
		{method: "PROPFIND", path: "/d", header: depth1, status: 207},
	})
	if got := tree(t, root, "d") + tree(t, root, "new"); got != old {
		t.Errorf("the destination is %.200q", got)
	}
	waitTrashEmpty(t, root)
	for i := range 30 { // inodes
		if err := os.Mkdir(filepath.Join(root, fmt.Sprint("full", i)), 0o755); err != nil {
			break
		}
	}
	converse(t, s, []step{
		{method: "MKCOL", path: "/new", status: 507, answer: "no space"},
		{method: "COPY", path: "/s/a", header: to("/new"), status: 507},
		{method: "LOCK", path: "/new", body: lockBody("exclusive"), status: 507},
		{method: "GET", path: "/new", status: 404},
		{method: "PUT", path: "/new", body: "1", status: 507},
		// Without a new inode for its note.
		{method: "MOVE", path: "/f", header: to("/d"), status: 507},
		{method: "MOVE", path: "/f", header: to("/d/a"), status: 204},
	})
	// It can still be opened, to make room.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := os.Mkdir(filepath.Join(root, fmt.Sprint("fuller", i)), 0o755); err != nil {
			break
		}
	}
	s = openWith(t, root, Options{WebDAV: true})
	converse(t, s, []step{
		{method: "MKCOL", path: "/new", status: 507},
		{method: "MOVE", path: "/d/a", header: to("/full0"), status: 507},
		{method: "DELETE", path: "/s", status: 204},
	})
}

// waitTrashEmpty waits until what was thrown away takes no room any more.
func waitTrashEmpty(t *testing.T, root string) {
	t.Helper()
	for {
		left, err := os.ReadDir(filepath.Join(root, area, "trash"))
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		runtime.Gosched()
	}
}
