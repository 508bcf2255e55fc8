package dir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The storage fails at one point of a COPY, MOVE or MKCOL. Every case starts from
// /s/s/a and /d/old/a; the fault is injected in one directory, or at one call.
func TestDAVFaults(t *testing.T) {
	const source, old = "/ /a=1", "/ /a=old"
	for _, c := range []struct {
		what, path, call, request string
		want                      string // start of the answer
		s, d                      string // what is at /s/s and /d/old after
	}{
		{"move: read-only", "d", "renameat2:error=EROFS", "MOVE /s/s /d/new", "403 ", source, old},
		{"move: no space", "d", "renameat2:error=ENOSPC", "MOVE /s/s /d/new", "507 ", source, old},
		{"move: other file system", "d", "renameat2:error=EXDEV", "MOVE /s/s /d/new", "403 ", source, old},
		{"move: broken disk", "d", "renameat2:error=EIO", "MOVE /s/s /d/new", "uncertain: ", source, old},
		{"move: it came meanwhile", "d", "renameat2:error=EEXIST", "MOVE /s/s /d/new", "409 ", source, old},
		{"move: fsync there", "d", "fsync:error=EIO", "MOVE /s/s /d/new", "uncertain: ", "", old},
		{"move: fsync here", "s", "fsync:error=EIO", "MOVE /s/s /d/new", "uncertain: ", "", old},
		{"move over: away fails", "s", "renameat2:error=EACCES", "MOVE /s/s /d/old", "403 ", source, old},
		{"move over: exchange fails", "d", "renameat2:error=EROFS", "MOVE /s/s /d/old", "403 ", source, old},
		{"move over: exchange is impossible", "d", "renameat2:error=EINVAL", "MOVE /s/s /d/old", "403 ", source, old},
		{"move over: exchange, broken disk", "d", "renameat2:error=EIO", "MOVE /s/s /d/old", "uncertain: ", source, old},
		{"move over: fsync", "d", "fsync:error=EIO", "MOVE /s/s /d/old", "uncertain: ", "", source},
		{"move over: note", ".fencegate/moves", "fsync:error=EIO", "MOVE /s/s /d/old", "not_sent: ", source, old},
		{"move over: no space for the note", ".fencegate/moves", "fsync:error=ENOSPC", "MOVE /s/s /d/old", "507 ", source, old},
		{"move a file over a file", "d/old", "renameat:error=EIO", "MOVE /s/s/a /d/old/a", "uncertain: ", source, old},
		{"copy: no space for a directory", ".fencegate/staged", "mkdirat:error=ENOSPC", "COPY /s/s /d/old", "507 ", source, old},
		{"copy: sync", ".fencegate/staged", "syncfs:error=EIO", "COPY /s/s /d/old", "not_sent: ", source, old},
		{"copy: sync, no space", ".fencegate/staged", "syncfs:error=ENOSPC", "COPY /s/s /d/old", "507 ", source, old},
		{"copy: exchange", "d", "renameat2:error=EIO", "COPY /s/s /d/old", "uncertain: ", source, old},
		{"copy: exchange is impossible", "d", "renameat2:error=EINVAL", "COPY /s/s /d/old", "403 ", source, old},
		{"copy: fsync", "d", "fsync:error=EIO", "COPY /s/s /d/old", "uncertain: ", source, source},
		{"copy: to a new name", "d", "renameat2:error=EDQUOT", "COPY /s/s /d/new", "507 ", source, old},
		{"copy: open", "s/s", "getdents64:error=EIO", "COPY /s/s /d/old", "not_sent: ", source, old},
		{"mkcol: no space", "d", "mkdirat:error=ENOSPC", "MKCOL /d/new", "507 ", source, old},
		{"mkcol: broken disk", "d", "mkdirat:error=EIO", "MKCOL /d/new", "uncertain: ", source, old},
		{"mkcol: fsync", "d", "fsync:error=EIO", "MKCOL /d/new", "uncertain: ", source, old},
		{"properties: no space", "", "fsetxattr:error=ENOSPC:when=4+", "PROPPATCH /d/old " + set("p", "1"), "207 507", source, old},
		{"properties: broken disk", "", "fsetxattr:error=EIO:when=4+", "PROPPATCH /d/old " + set("p", "1"), "uncertain: ", source, old},
		{"properties: fsync", "d/old", "fsync:error=EIO", "PROPPATCH /d/old " + set("p", "1"), "uncertain: ", source, old},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			fill(t, root, "s/s/a 1", "d/old/a old")
			options := []string{"-e", "inject=" + c.call}
			if c.path != "" {
				options = append(options, "-P", filepath.Join(root, c.path))
			}
			cmd := child(t, root, strace(t, options...)...)
			cmd.Env = append(cmd.Env, childDAV+"=1")
			if got := script(t, cmd, c.request)[0]; !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %q, want %q", c.request, got, c.want)
			}
			// As it is, and as it is when it is served again.
			for range 2 {
				if s, d := tree(t, root, "s/s"), tree(t, root, "d/old"); s != c.s || d != c.d {
					t.Errorf("source %q, destination %q, want %q, %q", s, d, c.s, c.d)
				}
				d, err := reopen(root)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			wantStagingEmpty(t, root)
		})
	}
}

func ago(hours int) time.Time { return time.Now().Add(-time.Duration(hours) * time.Hour) }

// The durable order: a tree is durable before it is seen, a name before the
// answer, and how to undo a MOVE before it begins.
func TestDAVDurableOrder(t *testing.T) {
	for _, c := range []struct {
		request string
		want    []string
	}{
		{"MKCOL /d/new", []string{"mkdir /d new", "fsync /d", "answer"}},
		{"MOVE /s/a /d/new", []string{"rename /s /d new", "fsync /d", "fsync /s", "answer"}},
		{"MOVE /s/a /d/a", []string{"time /s a", "fsync /s/a", "rename /s /d a", "fsync /d", "fsync /s", "answer"}},
		{"MOVE /s /d", []string{
			"fsync /.fencegate/moves/*", "fsync /.fencegate/moves",
			"rename / /.fencegate/staged *", "rename /.fencegate/staged / d", "fsync /",
			"rename /.fencegate/staged /.fencegate/trash *", "answer"}},
		{"COPY /s/a /d/new", []string{
			"time staged", "fsync staged", "rename /.fencegate/staged /d new", "fsync /d", "answer"}},
		{"COPY /s /d", []string{
			"mkdir /.fencegate/staged *", "time staged a", "syncfs /.fencegate/staged",
			"rename /.fencegate/staged / d", "fsync /", "rename /.fencegate/staged /.fencegate/trash *", "answer"}},
	} {
		root := t.TempDir()
		fill(t, root, "d/a old", "s/a new")
		// The destination is the newer one.
		if err := os.Chtimes(filepath.Join(root, "s/a"), ago(2), ago(2)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(root, "d/a"), ago(1), ago(1)); err != nil {
			t.Fatal(err)
		}
		got := trace(t, root, c.request)
		// What happens in the trash later does not matter.
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "rename /.fencegate/trash") })
		for i, step := range got {
			words := strings.Fields(step)
			last := len(words) - 1
			if strings.HasPrefix(words[last], "/.fencegate/moves/") {
				words[last] = "/.fencegate/moves/*"
			} else if last > 0 && strings.HasPrefix(words[last-1], "/.fencegate/") && words[0] != "fsync" {
				words[last] = "*"
			}
			got[i] = strings.Join(words, " ")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.request, got, c.want)
		}
	}
}
