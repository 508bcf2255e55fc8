package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Nothing but our own close closes what we open, so that every way through a
// request must end in it.
func TestNothingStaysOpen(t *testing.T) {
	s := openDAV(t)
	large := strings.Repeat("x", small+1)
	for _, r := range [][2]string{{"MKCOL", "/d"}, {"MKCOL", "/d/e"}} {
		s.do(t, request(r[0], r[1], ""))
	}
	s.do(t, request("PUT", "/d/small", "small"))
	s.do(t, request("PUT", "/d/large", large))
	if err := os.Symlink("small", filepath.Join(s.root, "d/link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(s.root, "d/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := func() {
		for _, path := range []string{"/", "/d", "/d/", "/d/small", "/d/small/", "/d/large", "/d/none", "/d/link", "/d/fifo", "/d/small/x", "/.fencegate/lock"} {
			s.do(t, request("GET", path, ""))
			s.do(t, request("HEAD", path, ""))
			s.do(t, request("GET", path, "", "Range: bytes=1-2"))
			s.do(t, request("GET", path, "", `If-Match: "another"`))
			s.do(t, request("GET", path, "", "If-None-Match: *"))
			s.do(t, request("PROPFIND", path, "", "Depth: 1"))
			s.do(t, request("PROPFIND", path, ""))
			s.do(t, request("PUT", path, "x", `If-Match: "another"`))
			s.do(t, request("DELETE", path, "", `If-Match: "another"`))
			s.do(t, request("PROPPATCH", path, set("p", "1")))
			s.do(t, request("COPY", path, "", "Destination: /d/e/copy", "Overwrite: F"))
			s.do(t, request("MOVE", path, "", "Destination: /d/none/x"))
		}
		s.do(t, request("PUT", "/d/new", "x"))
		s.do(t, request("PUT", "/d/small", "replaced"))
		s.do(t, request("PUT", "/none/new", "x"))
		s.do(t, request("DELETE", "/d/new", ""))
		s.do(t, request("DELETE", "/d/e/copy", ""))
		_, abort, err := s.Prepare(t.Context(), request("PUT", "/d/new", "x"), strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		abort()
		if _, _, err := s.Prepare(t.Context(), request("PUT", "/d/new", "xx"), errReader{errors.New("gone")}); err == nil {
			t.Error("a body that breaks off is taken")
		}
	}
	all() // what is opened once for all
	before := open(t)
	for range 3 {
		all()
	}
	if after := open(t); after > before+2 { // the trash may be about to be emptied
		t.Errorf("%d descriptors are open, and %d after some requests more", before, after)
	}
}

func open(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A folder that is closed while it is in use is closed by the last user, and by
// nobody again: the number may be another file's by then.
func TestFolderClosesOnce(t *testing.T) {
	f, err := openRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	isOpen := func() bool {
		_, err := unix.FcntlInt(uintptr(f.fd), unix.F_GETFD, 0)
		return err == nil
	}
	err = f.control(func(int) error {
		err := f.control(func(int) error {
			if err := f.close(); err != nil {
				t.Error(err)
			}
			if err := f.close(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("closed twice: %v", err)
			}
			return nil
		})
		if !isOpen() {
			t.Error("closed while it is in use")
		}
		return err
	})
	if err != nil || isOpen() {
		t.Errorf("after the last use: %v, open %v", err, isOpen())
	}
	if err := f.sync(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("used after close: %v", err)
	}
	if _, err := f.open("."); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("used after close: %v", err)
	}
}
