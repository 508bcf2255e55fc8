package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// The disk fails under the ledger while many write, in the middle of a commit.
// Shown: S5 and S6 over the repair. From the failure on nothing protected
// passes, the next start refuses, and after fencegate ledger repair every mark
// that a write needed is there and nothing begins before the hold is over.
func TestRepairAfterTheDiskFailed(t *testing.T) {
	t.Parallel()
	for _, inject := range []string{
		"fdatasync:error=EIO",        // of the data
		"fdatasync:error=EIO:when=2", // of the meta page, unless another thread does it
		"pwrite64:error=EIO",         // of the first page
		"pwrite64:error=EIO:when=2+", // of a later one
		"pwrite64:error=EIO:when=4+", // of the meta page, perhaps
	} {
		t.Run(inject, func(t *testing.T) {
			t.Parallel()
			s := harness.Fencegate(t, "--settle", "2s", "--max-wait", "20s")
			objects := failUnderWriters(t, s, inject)
			if said := readiness(s); !strings.HasPrefix(said, "503 the ledger failed") {
				t.Errorf("/readyz says %s", said)
			}
			says(t, s, "200", "GET", objects[0].path, fence.Stamp{}, "")
			if code := s.Stop(); code != 65 {
				t.Errorf("exit code %d, want 65", code)
			}
			refusal := harness.Start(t, "fencegate", s.Command())
			wantCode(t, refusal, 65)
			saysOneLine(t, refusal, "ledger.suspect", "input/output error", "run fencegate ledger repair --state "+s.State)

			said := strings.Join(ledger(t, 0, "repair", "--state", s.State).Stdout(), "\n")
			for _, words := range []string{"input/output error", "lost:      nothing", "floor:     0, as before", "old file:  " + s.State, "(2s, or"} {
				if !strings.Contains(said, words) {
					t.Errorf("the repair says\n%s\nwithout %q", said, words)
				}
			}
			marks := marksOf(t, s.State)
			for _, o := range objects {
				if answered := o.answered.Load(); marks[o.path] < answered {
					t.Errorf("after the repair the mark of %s is %d, although token %d was answered", o.path, marks[o.path], answered)
				}
			}
			if check := ledger(t, 0, "check", "--state", s.State).Stdout(); !strings.Contains(check[0], "not stopped in order") {
				t.Errorf("check says %q", check)
			}
			s.Start()
			if said := readiness(s); !strings.HasPrefix(said, "503 recovering") {
				t.Errorf("after the repair /readyz says %s, want a hold", said)
			}
			s.AwaitReady()
			for _, o := range objects {
				o.check(t, s)
				token := fence.Token(max(o.answered.Load(), marks[o.path]))
				says(t, s, "412 stale_token", "PUT", o.path, stampOf(token-1, "old"), "old")
				says(t, s, "204", "PUT", o.path, stampOf(token+1_000_000, "new"), "new")
			}
			if code := s.Stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// failUnderWriters has the disk fail under writers with tokens that rise, and
// returns what they wrote once every one of them was refused.
func failUnderWriters(t *testing.T, s *harness.Server, inject string) []*written {
	t.Helper()
	objects := []*written{{path: "/one"}, {path: "/a/two"}, {path: "/a/three"}}
	var token atomic.Uint64
	token.Store(10)
	answers := make(chan struct{}, 1<<16)
	var writers sync.WaitGroup
	for i := range 6 {
		o := objects[i%3]
		writers.Go(func() {
			for {
				n := token.Add(1)
				a, err := send(fresh, "PUT", s.URL()+o.path, stampOf(fence.Token(n), strconv.FormatUint(n, 10)), strings.NewReader(string(contentOf(n))))
				if err != nil {
					t.Errorf("a write is answered %v", err)
					return
				}
				switch {
				case a.status/100 == 2:
					for old := o.answered.Load(); n > old && !o.answered.CompareAndSwap(old, n); old = o.answered.Load() {
					}
					answers <- struct{}{}
				case a.String() == "503 ledger_unavailable":
					return
				case a.String() != "412 stale_token":
					t.Errorf("a write is answered %v", a)
					return
				}
			}
		})
	}
	for range 50 {
		<-answers
	}
	tamper(t, s, inject)
	s.AwaitLog(harness.Message("the ledger failed"))
	writers.Wait()
	return objects
}

// tamper does to the system calls of fencegate what strace's inject says.
func tamper(t testing.TB, s *harness.Server, inject string) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is not installed: run .ci/setup, or apt-get install strace")
	}
	call, _, _ := strings.Cut(inject, ":")
	harness.Start(t, "strace", exec.Command(path, "-f", "-o", filepath.Join(t.TempDir(), "trace"), "-p", fmt.Sprint(s.Process().PID()),
		"-e", "trace="+call, "-e", "inject="+inject))
}

// marksOf reads the tokens of all marks from a ledger that is not in use.
func marksOf(t testing.TB, state string) map[string]uint64 {
	t.Helper()
	marks := map[string]uint64{}
	for _, row := range ledgerRows(t, ledger(t, 0, "list", "--state", state, "--json")) {
		n, err := strconv.ParseUint(row.Token, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if row.Kind == "mark" {
			marks[row.Path] = n
		}
	}
	return marks
}

// A repair is killed at each step, and then done again. Shown: the next start
// either refuses, or has every mark.
func TestKilledRepair(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	objects := failUnderWriters(t, s, "fdatasync:error=EIO")
	if code := s.Stop(); code != 65 {
		t.Fatalf("exit code %d", code)
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"fsync:signal=KILL:when=1", "linkat:signal=KILL:when=1", "renameat:signal=KILL:when=1", "unlinkat:signal=KILL:when=2"} {
		p := newPlace(t)
		p.copy(s.State, p.state)
		killed := harness.Start(t, "ledger repair", exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "inject="+at,
			harness.Build(t), "ledger", "repair", "--state", p.state))
		if code := killed.Wait(); code != 128+9 {
			t.Fatalf("%s: exit code %d", at, code)
		}
		if _, err := os.Lstat(filepath.Join(p.state, "ledger.suspect")); err == nil {
			ledger(t, 65, "check", "--state", p.state)
		}
		ledger(t, 0, "repair", "--state", p.state)
		marks := marksOf(t, p.state)
		for _, o := range objects {
			if answered := o.answered.Load(); marks[o.path] < answered {
				t.Errorf("%s: the mark of %s is %d, although token %d was answered", at, o.path, marks[o.path], answered)
			}
		}
	}
}
