package dir

import (
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Nothing outside the root is reached, whatever is in the path or on the disk.
func TestConfinement(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := openDir(t)
	s.do(t, request("PUT", "/d/inside", "inside"))
	for link, target := range map[string]string{
		"out":       outside,
		"file":      filepath.Join(outside, "secret"),
		"relative":  "../../" + filepath.Base(outside),
		"d/up":      "..",
		"alias":     "d",
		"d/same":    "inside",
		"dangling":  filepath.Join(outside, "not-there"),
		"loop":      "loop",
		"self":      "/proc/self/root",
		"d/staging": "../" + area,
	} {
		if err := os.Symlink(target, filepath.Join(s.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"/out/secret", "/out/new", "/file", "/relative/secret", "/d/up/d/inside", "/alias/inside", "/d/same",
		"/dangling", "/loop", "/loop/x", "/self/etc/passwd", "/d/staging/lock", "/out/a/b/c",
	} {
		converse(t, s, []step{
			{method: "GET", path: path, status: 404, answer: "symbolic link"},
			{method: "HEAD", path: path, status: 404},
			{method: "PUT", path: path, body: "x", status: 403, answer: "symbolic link"},
			{method: "DELETE", path: path, status: 403, answer: "symbolic link"},
		})
	}
	for _, path := range []string{
		"", "x", "//", "/.", "/..", "/../" + filepath.Base(outside) + "/secret", "/d/../d/inside", "/d/./inside",
		"/d//inside", "//d/inside", "/d/inside/..", "/d/..", "/d/../", "/d/inside\x00", "/\x00", "/d/inside//", "*",
		"/d/../.." + outside + "/secret",
	} {
		converse(t, s, []step{
			{method: "GET", path: path, status: 400},
			{method: "PUT", path: path, body: "x", status: 400},
			{method: "DELETE", path: path, status: 400},
		})
	}
	if got, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(got) != "secret" {
		t.Errorf("the file outside: %q %v", got, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside holds %v, %v", entries, err)
	}
	if got := s.content(t, "d/inside"); got != "inside" {
		t.Errorf("d/inside is %q", got)
	}
	// A tree that contains links is removed, not what they point to.
	converse(t, s, []step{{method: "DELETE", path: "/d", status: 204}})
}

// The staging area does not exist for clients.
func TestStagingAreaIsHidden(t *testing.T) {
	s := openDir(t)
	for _, path := range []string{
		"/.fencegate", "/.fencegate/", "/.fencegate/lock", "/.fencegate/staged/x", "/.fencegate/ledger-id",
		"/.FENCEGATE/lock", "/.FenceGate", "/.fencegate/new/x",
	} {
		converse(t, s, []step{
			{method: "GET", path: path, status: 404, answer: textNotFound},
			{method: "OPTIONS", path: path, status: 404},
			{method: "PUT", path: path, body: "x", status: 403, answer: textReserved},
			{method: "DELETE", path: path, status: 403, answer: textReserved},
		})
	}
	converse(t, s, []step{
		{method: "PUT", path: "/d/.fencegate", body: "an ordinary name below", status: 201},
		{method: "PUT", path: "/.fencegate2", body: "another name", status: 201},
	})
}

// A second name that the file system has for the staging area, here by a bind
// mount, is known by its identity.
func TestStagingAreaByAnotherName(t *testing.T) {
	needRoot(t)
	s := openDir(t)
	alias := filepath.Join(s.root, "alias")
	if err := os.Mkdir(alias, 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, filepath.Join(s.root, area), alias, "", syscall.MS_BIND, "")
	for _, path := range []string{"/alias/lock", "/alias"} {
		converse(t, s, []step{
			{method: "GET", path: path, status: 404, answer: textNotFound},
			{method: "PUT", path: path, body: "x", status: 403, answer: textReserved},
			{method: "DELETE", path: path, status: 403, answer: textReserved},
		})
	}
}

// Mount points are not entered, nor emptied with the directory they are in.
func TestMountPoints(t *testing.T) {
	needRoot(t)
	root := filepath.Join(t.TempDir(), "data")
	d, err := Open(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := storage{d, root}
	s.do(t, request("PUT", "/d/e/file", "1"))
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "precious"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(other, filepath.Join(root, "d/e"), "", syscall.MS_BIND, ""); err != nil {
		t.Fatal("mount: ", err)
	}
	t.Cleanup(func() {
		for _, at := range []string{"d/e", area + "/trash/*/e"} { // it moves with its directory
			targets, _ := filepath.Glob(filepath.Join(root, at))
			for _, target := range targets {
				if err := syscall.Unmount(target, 0); err != nil {
					t.Error("unmount: ", err)
				}
			}
		}
	})
	converse(t, s, []step{
		{method: "GET", path: "/d/e/precious", status: 404},
		{method: "PUT", path: "/d/e/new", body: "x", status: 403, answer: "another file system"},
		{method: "DELETE", path: "/d/e", status: 403, answer: "mount point"},
		{method: "DELETE", path: "/d", status: 204},
	})
	if err := d.Close(); err == nil {
		t.Error("Close does not say that the trash is not empty")
	}
	if _, err := os.Lstat(filepath.Join(other, "precious")); err != nil {
		t.Errorf("what was mounted is gone: %v", err)
	}
}

// FIFOs, sockets and devices are neither opened for good nor replaced.
func TestSpecialFiles(t *testing.T) {
	needRoot(t)
	s := openDir(t)
	if err := syscall.Mkfifo(filepath.Join(s.root, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(s.root, "device"), syscall.S_IFCHR|0o644, 1<<8|5); err != nil { // /dev/zero
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(s.root, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, path := range []string{"/fifo", "/device", "/socket"} {
		// Not in this goroutine: opening a FIFO the wrong way waits for ever.
		answered := make(chan error, 1)
		go func() {
			_, err := s.Read(httptest.NewRecorder(), request("GET", path, ""))
			answered <- err
		}()
		select {
		case err := <-answered:
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("GET %s waits", path)
		}
		converse(t, s, []step{
			{method: "GET", path: path, status: 404, answer: "special file"},
			{method: "PUT", path: path, body: "x", status: 403, answer: "special file"},
			{method: "DELETE", path: path, status: 403, answer: "special file"},
		})
	}
}

// A rename breaks hard links: the other name keeps the old content.
func TestHardLinks(t *testing.T) {
	s := openDir(t)
	s.do(t, request("PUT", "/a", "old"))
	if err := os.Link(filepath.Join(s.root, "a"), filepath.Join(s.root, "b")); err != nil {
		t.Fatal(err)
	}
	s.do(t, request("PUT", "/a", "new"))
	if a, b := s.content(t, "a"), s.content(t, "b"); a != "new" || b != "old" {
		t.Errorf("a is %q, b is %q", a, b)
	}
}

// mount mounts something until the test, and what it opened, has ended.
func mount(t *testing.T, source, target, fstype string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount(source, target, fstype, flags, data); err != nil {
		t.Fatal("mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(target, 0); err != nil {
			t.Error("unmount: ", err)
		}
	})
}
