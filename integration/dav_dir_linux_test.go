package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fencegate/integration/harness"
)

// served is a directory that fencegate itself serves over WebDAV.
type served struct{ *harness.Server }

// serveDAV starts a fencegate that serves a directory as it does by default.
func serveDAV(t testing.TB, args ...string) served {
	t.Helper()
	return served{harness.Fencegate(t, append([]string{"--protocol", "webdav"}, args...)...)}
}

// make makes collections and objects with a token, in the order given: what ends in "/" is a collection.
func (s served) make(t testing.TB, token string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		method, body := "PUT ", "of "+p
		if strings.HasSuffix(p, "/") {
			method, body = "MKCOL ", ""
		}
		asked(t, s.URL(), "201", method+p+"\nX-Fencing-Token: "+token+"\n\n"+body)
	}
}

// contents tells what clients can see below the root: a line for each name with
// its kind, size, modification time, content and extended attributes.
func (s served) contents(t testing.TB) string {
	t.Helper()
	return contentsOf(t, s.Data)
}

func contentsOf(t testing.TB, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".fencegate" {
			return fs.SkipDir
		}
		now, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", strings.TrimPrefix(path, root), now.Mode())
		if now.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %v %q", now.ModTime().UnixNano(), text)
		}
		kept := make([]byte, 64<<10)
		switch n, err := unix.Lgetxattr(path, "user.fencegate.properties", kept); err {
		case nil:
			fmt.Fprintf(&b, " with %q", kept[:n])
		case unix.ENODATA, unix.ENOTSUP, unix.EPERM: // EPERM: of a symbolic link or special file
		default:
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintln(&b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// isSwept checks that nothing is left in the staging area.
func (s served) isSwept(t *testing.T) {
	t.Helper()
	isSwept(t, s.Server)
	if notes, err := os.ReadDir(filepath.Join(s.Data, ".fencegate", "moves")); err != nil || len(notes) > 0 {
		t.Errorf("of moves is left %v, %v", notes, err)
	}
}
