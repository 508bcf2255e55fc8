package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A full disk is 507, and changes nothing.
func TestNoSpace(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	mount(t, "tmpfs", root, "tmpfs", 0, "size=1m")
	s := openAt(t, root)
	s.do(t, request("PUT", "/a", "old"))

	// Declared too large: refused before a byte of it is read.
	big := strings.Repeat("x", 2<<20)
	r := request("PUT", "/a", big)
	_, _, err := s.Prepare(t.Context(), r, errReader{errors.New("the body was read")})
	var own *StatusError
	if !errors.As(err, &own) || own.Status != 507 {
		t.Errorf("declared: %v", err)
	}
	// Found out while it arrives.
	r.ContentLength = -1
	_, _, err = s.Prepare(t.Context(), r, strings.NewReader(big))
	if !errors.As(err, &own) || own.Status != 507 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("undeclared: %v", err)
	}
	wantStagingEmpty(t, root)
	converse(t, s, []step{
		{method: "PUT", path: "/a", body: big, status: 507, answer: "cannot fit"},
		{method: "GET", path: "/a", status: 200, answer: "old"},
		{method: "PUT", path: "/b", body: "small", status: 201},
	})
}

// The same when it is inodes that run out, on the way to the new name.
func TestNoInodes(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	mount(t, "tmpfs", root, "tmpfs", 0, "size=1m,nr_inodes=10")
	s := openAt(t, root) // root, area, lock, staged, trash: 5 are left
	converse(t, s, []step{
		{method: "PUT", path: "/a", body: "old", status: 201},
		{method: "PUT", path: "/1/2/3/4/5/6/b", body: "1", status: 507, answer: "no space"},
		{method: "GET", path: "/1", status: 404},
		{method: "PUT", path: "/a", body: "new", status: 204},
	})
	if got := s.content(t, "1"); got != "(nothing)" {
		t.Error("directories were left behind")
	}
}

// An ordinary user: what the operating system forbids is 403 and says so.
func TestOrdinaryUser(t *testing.T) {
	needRoot(t)
	root := publicDir(t)
	for path, mode := range map[string]os.FileMode{"closed": 0o755, "secret": 0o700} {
		if err := os.Mkdir(filepath.Join(root, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{"closed/a": 0o644, "closed/unreadable": 0o600, "secret/a": 0o644} {
		if err := os.WriteFile(filepath.Join(root, path), []byte("old"), mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := child(t, root)
	cmd.Env = append(cmd.Env, childUser+"=65534")
	requests := []string{
		"PUT /own/a new", "GET /own/a", "DELETE /own", "GET /closed/a",
		"PUT /closed/a new", "PUT /closed/b new", "PUT /closed/d/b new", "DELETE /closed/a", "DELETE /closed",
		"GET /closed/unreadable", "GET /secret/a", "PUT /secret/a new", "DELETE /secret/a",
	}
	want := []string{
		"201", "200 new", "204", "200 old",
		"403", "403", "403", "403", "403",
		"403", "403", "403", "403",
	}
	for i, got := range script(t, cmd, requests...) {
		if !strings.HasPrefix(got, want[i]) || want[i] == "403" && !strings.Contains(got, "permit") && !strings.Contains(got, "owner and mode") {
			t.Errorf("%s: %q, want %s", requests[i], got, want[i])
		}
	}
	wantStagingEmpty(t, root)
	for _, path := range []string{"closed/a", "secret/a"} {
		if got := (storage{root: root}).content(t, path); got != "old" {
			t.Errorf("%s is %q", path, got)
		}
	}
}

// A root that cannot be written cannot be served.
func TestOpenWithoutPermission(t *testing.T) {
	needRoot(t)
	root := publicDir(t)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, root)
	cmd.Env = append(cmd.Env, childUser+"=65534")
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), root) || !strings.Contains(string(out), "permission denied") {
		t.Errorf("%v: %q", err, out)
	}
}

// publicDir returns a directory that every user can write and get to.
func publicDir(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for dir, mode := range map[string]os.FileMode{root: 0o777, filepath.Dir(root): 0o755} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNetworkFS(t *testing.T) {
	for _, root := range []string{t.TempDir(), filepath.Join(t.TempDir(), "not/made/yet"), "relative"} {
		if kind, err := NetworkFS(root); kind != "" || err != nil {
			t.Errorf("%s: %q, %v", root, kind, err)
		}
	}
}
