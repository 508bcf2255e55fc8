package dir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// strace returns a wrapper that runs a child under strace with these options.
func strace(t *testing.T, options ...string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs strace")
	}
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this test needs strace; run it with -short to leave it out: ", err)
	}
	return append([]string{path, "-f", "-qq", "-o", "/dev/null"}, options...)
}

// trace runs one request in a child and returns what the kernel was asked to do
// for it, in order, in short: "write staged", "time staged", "fsync staged", "mkdir DIR NAME",
// "rename staged DIR NAME", "fsync DIR", "answer".
func trace(t *testing.T, root, request string) []string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	wrapper := strace(t, "-o", log, "-y", "-s", "40",
		"-e", "trace=utimensat,openat,openat2,write,fsync,fdatasync,syncfs,rename,renameat,renameat2,mkdir,mkdirat,unlinkat")
	cmd := child(t, root, wrapper...)
	if verb, _, _ := strings.Cut(request, " "); slices.Contains([]string{"MKCOL", "COPY", "MOVE"}, verb) {
		cmd.Env = append(cmd.Env, childDAV+"=1")
	}
	script(t, cmd, request)
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return shorten(root, string(content))
}

func shorten(root, log string) (steps []string) {
	upload := regexp.MustCompile(`^time /\.fencegate/staged .*`)
	short := func(path string) string {
		path = strings.TrimPrefix(strings.Replace(path, root, "", 1), "/")
		if strings.HasPrefix(path, area+"/staged/") {
			return "staged"
		}
		return "/" + path
	}
	fd := regexp.MustCompile(`\d+<([^>]*)>`)
	quoted := regexp.MustCompile(`"([^"]*)"`)
	started := map[string]string{} // by thread
	opened := false
	for line := range strings.Lines(log) {
		// A call that another thread's interrupts is logged in two halves; what
		// counts is when it returned.
		pid, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		if head, ok := strings.CutSuffix(rest, "<unfinished ...>"); ok {
			started[pid] = head
			continue
		}
		if _, tail, ok := strings.Cut(rest, " resumed>"); ok {
			rest = started[pid] + tail
		}
		name, args, _ := strings.Cut(rest, "(")
		var fds, strs []string
		for _, m := range fd.FindAllStringSubmatch(args, -1) {
			fds = append(fds, short(m[1]))
		}
		for _, m := range quoted.FindAllStringSubmatch(args, -1) {
			strs = append(strs, m[1])
		}
		step := ""
		switch {
		case name == "write" && strings.Contains(args, `"open\n"`):
			opened = true
		case name == "write" && strings.HasPrefix(args, "1<"):
			step = "answer"
		case name == "write" && fds[0] == "staged", name == "fsync", name == "fdatasync", name == "syncfs":
			step = name + " " + fds[0]
		case name == "utimensat":
			step = "time " + fds[0] + " " + strs[0]
		case name == "renameat" || name == "renameat2":
			step = fmt.Sprintf("rename %s %s %s", fds[0], fds[1], strs[1])
		case name == "mkdirat":
			step = fmt.Sprintf("mkdir %s %s", fds[0], strs[0])
		case name == "rename" || name == "mkdir":
			step = "by path: " + rest
		case name == "openat" && strings.Contains(args, "O_CREAT"):
			step = "by openat: " + rest
		}
		step = upload.ReplaceAllString(step, "time staged")
		if opened && step != "" {
			steps = append(steps, step)
		}
	}
	return steps
}

// The durable order: nothing is renamed before its content is durable, nothing
// answered before the rename and every new directory are.
func TestDurableOrder(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		request string
		want    []string
	}{
		{"PUT /a one", []string{
			"write staged", "time staged", "fsync staged", "rename /.fencegate/staged / a", "fsync /", "answer"}},
		{"PUT /a two", []string{
			"write staged", "time staged", "fsync staged", "rename /.fencegate/staged / a", "fsync /", "answer"}},
		{"PUT /x/y/b one", []string{
			"write staged", "time staged", "fsync staged",
			"mkdir / x", "fsync /", "mkdir /x y", "fsync /x",
			"rename /.fencegate/staged /x/y b", "fsync /x/y", "answer"}},
		{"DELETE /x/y/b", []string{"rename /x/y /.fencegate/trash *", "fsync /x/y", "answer"}},
		{"DELETE /x", []string{"rename / /.fencegate/trash *", "fsync /", "answer"}},
	} {
		got := trace(t, root, c.request)
		// Names in the trash are random; what happens there later does not matter.
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "rename /.fencegate/trash") })
		for i, s := range got {
			if strings.Contains(s, "/.fencegate/trash ") {
				got[i] = s[:strings.LastIndexByte(s, ' ')] + " *"
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.request, got, c.want)
		}
	}
}

// An upload that gets a later time because the object is newer is durable anew.
func TestDurableOrderOfLateUpload(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(root, "a"), ahead, ahead); err != nil {
		t.Fatal(err)
	}
	want := []string{"write staged", "time staged", "fsync staged", "time staged", "fsync staged",
		"rename /.fencegate/staged / a", "fsync /", "answer"}
	if got := trace(t, root, "PUT /a one"); !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// What a Dir finds when it opens may have been left undurable by a killed one.
func TestOpenSyncs(t *testing.T) {
	log := filepath.Join(t.TempDir(), "trace")
	script(t, child(t, t.TempDir(), strace(t, "-o", log, "-e", "trace=syncfs,write")...), "OPTIONS /")
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	synced, open := strings.Index(string(content), "syncfs("), strings.Index(string(content), `"open\n"`)
	if synced < 0 || open < synced {
		t.Errorf("no syncfs before the directory is open:\n%s", content)
	}
}

// The storage fails at one point of a write; every case starts from /d/old,
// whose content is "old". The fault is injected on one path only.
func TestStorageFaults(t *testing.T) {
	type fault struct {
		what, path, call, request string
		want                      string // start of the answer
		old                       string // content of /d/old after
	}
	for _, c := range []fault{
		{"fsync of the body: quota", "", "fsync:error=EDQUOT", "PUT /d/old new", "507 ", "old"},
		{"fsync of the body: broken disk", "", "fsync:error=EIO", "PUT /d/old new", "not_sent: ", "old"},
		{"rename: no space", "d", "renameat:error=ENOSPC", "PUT /d/old new", "507 ", "old"},
		{"rename: quota", "d", "renameat:error=EDQUOT", "PUT /d/old new", "507 ", "old"},
		{"rename: read-only", "d", "renameat:error=EROFS", "PUT /d/old new", "403 ", "old"},
		{"rename: other file system", "d", "renameat:error=EXDEV", "PUT /d/old new", "403 ", "old"},
		{"rename: broken disk", "d", "renameat:error=EIO", "PUT /d/old new", "uncertain: ", "old"},
		{"fsync of the directory", "d", "fsync:error=EIO", "PUT /d/old new", "uncertain: ", "new"},
		{"fsync of the directory: no space", "d", "fsync:error=ENOSPC", "PUT /d/old new", "uncertain: ", "new"},
		{"fsync of a new directory", ".", "fsync:error=EIO", "PUT /e/f/new new", "not_sent: ", "old"},
		{"mkdir: no space", "d", "mkdirat:error=ENOSPC", "PUT /d/f/g/new new", "507 ", "old"},
		{"open: too many files", "=d/old", "openat2:error=EMFILE", "GET /d/old", "not_sent: ", "old"},
		{"removal: read-only", "d", "renameat:error=EROFS", "DELETE /d/old", "403 ", "old"},
		{"removal: broken disk", "d", "renameat:error=EIO", "DELETE /d/old", "uncertain: ", "old"},
		{"removal, fsync", "d", "fsync:error=EIO", "DELETE /d/old", "uncertain: ", "(nothing)"},
		{"removal of a directory, fsync", ".", "fsync:error=EIO", "DELETE /d", "uncertain: ", "(nothing)"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.Mkdir(filepath.Join(root, "d"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "d/old"), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			options := []string{"-e", "inject=" + c.call}
			if rel, ok := strings.CutPrefix(c.path, "="); ok { // as the call names it
				options = append(options, "-P", rel)
			} else if c.path != "" {
				options = append(options, "-P", filepath.Join(root, c.path))
			}
			got := script(t, child(t, root, strace(t, options...)...), c.request)
			if !strings.HasPrefix(got[0], c.want) {
				t.Errorf("%s: %q, want %q", c.request, got[0], c.want)
			}
			if now := (storage{root: root}).content(t, "d/old"); now != c.old {
				t.Errorf("/d/old is %q, want %q", now, c.old)
			}
			for _, made := range []string{"e", "d/f"} {
				if _, err := os.Lstat(filepath.Join(root, made)); err == nil {
					t.Errorf("%s was made and left behind", made)
				}
			}
			wantStagingEmpty(t, root)
		})
	}
}

// Without openat2 nothing is served, and it is said why.
func TestNeedsOpenat2(t *testing.T) {
	for _, errno := range []string{"ENOSYS", "EPERM"} {
		root := t.TempDir()
		cmd := child(t, root, strace(t, "-e", "inject=openat2:error="+errno)...)
		out, err := cmd.Output()
		if err == nil || !strings.Contains(string(out), "openat2") || !strings.Contains(string(out), "seccomp") {
			t.Errorf("%s: %v, %q", errno, err, out)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
			t.Errorf("%s: left %v, %v", errno, entries, err)
		}
	}
}
