package dir

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// transfers are COPY and MOVE in all forms that replace something, or nothing.
// Each starts from /s and /d.
var transfers = []struct {
	name, request string
	files         []string
}{
	{"move to nothing", "MOVE /s /d", []string{"s/a 1", "s/b/c 2"}},
	{"move a file over a file", "MOVE /s /d", []string{"s new", "d old"}},
	{"move a file over a directory", "MOVE /s /d", []string{"s new", "d/a old", "d/b/c old"}},
	{"move a directory over a file", "MOVE /s /d", []string{"s/a 1", "s/b/c 2", "d old"}},
	{"move a directory over a directory", "MOVE /s /d", []string{"s/a 1", "s/b/c 2", "d/a old", "d/e/f old"}},
	{"copy to nothing", "COPY /s /d", []string{"s/a 1", "s/b/c 2"}},
	{"copy a file over a file", "COPY /s /d", []string{"s new", "d old"}},
	{"copy a file over a directory", "COPY /s /d", []string{"s new", "d/a old", "d/b/c old"}},
	{"copy a directory over a directory", "COPY /s /d", []string{"s/a 1", "s/b/c 2", "d/a old", "d/e/f old"}},
}

// A process that is killed at any step of a COPY or MOVE leaves the destination
// as it was or as it is to be; and what is moved is at one of its two names once
// the directory is served again.
func TestKilledTransfers(t *testing.T) {
	for _, c := range transfers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var undone, done int // of those that were killed
			for _, call := range []string{"renameat", "renameat2", "fsync", "syncfs", "mkdirat", "unlinkat", "utimensat", "openat2"} {
				for n, killed := 1, true; killed; n++ {
					var isDone bool
					killed, isDone = killedTransfer(t, c.request, c.files, call, n)
					switch {
					case !killed && !isDone:
						t.Fatalf("%s: answered, and the destination is old", c.request)
					case killed && isDone:
						done++
					case killed:
						undone++
					}
				}
			}
			t.Logf("killed %d times before and %d times after it was done", undone, done)
			// Else the kills did not surround the step that counts.
			if undone == 0 || done == 0 {
				t.Error("it was never killed before, or never after")
			}
		})
	}
}

// killedTransfer makes one transfer that is killed at the nth of such calls, and
// checks what is left.
func killedTransfer(t *testing.T, request string, files []string, call string, n int) (killed, done bool) {
	t.Helper()
	root := t.TempDir()
	fill(t, root, files...)
	source, old := tree(t, root, "s"), tree(t, root, "d")
	killed = killAt(t, root, request, call, n)
	at := fmt.Sprintf("killed at %s %d", call, n)
	if got := tree(t, root, "d"); got != old && got != source {
		t.Fatalf("%s: the destination is %q, was %q, is to be %q", at, got, old, source)
	}
	d, err := reopen(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	wantStagingEmpty(t, root)
	left := source
	switch tree(t, root, "d") {
	case source:
		done = true
		if strings.HasPrefix(request, "MOVE") {
			left = ""
		}
	case old:
	default:
		t.Fatalf("%s, and served again: the destination is %q", at, tree(t, root, "d"))
	}
	if got := tree(t, root, "s"); got != left {
		t.Fatalf("%s: the destination is %q, the source %q, want %q", at, tree(t, root, "d"), got, left)
	}
	return killed, done
}

// reopen serves a directory again. The lock of another one can be held a moment
// longer, by a process that is just being forked.
func reopen(root string) (*Dir, error) { return Open(root, Options{WebDAV: true, Wait: time.Minute}) }

// killAt runs a request in a child that is killed when it is about to make its
// nth call of that name; it returns false if there are not so many.
func killAt(t *testing.T, root, request, call string, n int) (killed bool) {
	t.Helper()
	cmd := child(t, root, strace(t, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n))...)
	cmd.Env = append(cmd.Env, childDAV+"=1")
	cmd.Stdin = strings.NewReader(request + "\n")
	out, err := cmd.Output()
	if err == nil {
		if answers := strings.Fields(string(out)); len(answers) != 2 || answers[0] != "open" || answers[1][0] != '2' {
			t.Fatalf("%s: %s", request, out)
		}
		return false
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s: %v\n%s", request, err, out)
	}
	return true
}
