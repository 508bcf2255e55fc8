package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// Many raise marks at the same time, on a disk that takes its time. Shown: they
// share commits, so that a slow disk does not make them queue.
func TestParallelRaisesShareCommits(t *testing.T) {
	t.Parallel()
	const raises = 50
	s := harness.Fencegate(t)
	slowDisk(t, s)
	answered := make(chan string, raises)
	for i := range raises {
		go func() {
			a, err := send(fresh, "PUT", fmt.Sprintf("%s/object/%d", s.URL(), i), stampOf(7, "holder"), strings.NewReader("seven"))
			answered <- strings.TrimSpace(fmt.Sprint(a, " ", errText(err)))
		}()
	}
	// They overlap when all wait while not one commit has ended. The one that
	// runs may have any of them; the next one has all the others.
	harness.Eventually(t, "all to wait for the first commit", func() (any, bool) {
		m := s.Metrics()
		waiting, done := m.Gauge("fencegate_waiting_requests"), m.Counter("fencegate_ledger_commits_total")
		if done > 0 {
			t.Fatalf("the first commit ended with only %v requests waiting: this disk is not slow enough", waiting)
		}
		return waiting, waiting == raises
	})
	for range raises {
		if said := <-answered; said != "201" {
			t.Errorf("a write is answered %s", said)
		}
	}
	m := s.Metrics()
	if n := m.Counter("fencegate_ledger_commits_total"); n > 2 {
		t.Errorf("%d raises that overlapped cost %v commits, want 2 at most", raises, n)
	}
	if m.Counter("fencegate_raise_batch_size") != m.Counter("fencegate_ledger_commits_total") {
		t.Error("the batch sizes do not tell of every commit")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// slowSync is how much longer each fdatasync takes on a slowDisk.
const slowSync = 2 * time.Second

// slowDisk has each fdatasync of fencegate take slowSync more.
func slowDisk(t testing.TB, s *harness.Server) {
	t.Helper()
	traced(t, s, "-e", "trace=fdatasync", "-e", fmt.Sprint("inject=fdatasync:delay_enter=", slowSync.Microseconds()))
}

// traced has strace follow fencegate, with these arguments, and returns the file
// that it writes.
func traced(t testing.TB, s *harness.Server, args ...string) (trace string) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is not installed: run .ci/setup, or apt-get install strace")
	}
	trace = filepath.Join(t.TempDir(), "trace")
	pid := fmt.Sprint(s.Process().PID())
	harness.Start(t, "strace", exec.Command(path, append([]string{"-f", "-o", trace, "-p", pid}, args...)...))
	harness.Eventually(t, "strace to hold every thread of fencegate", func() (any, bool) {
		threads, err := filepath.Glob("/proc/" + pid + "/task/*/status")
		if err != nil || len(threads) == 0 {
			return "no such process", false
		}
		for _, thread := range threads {
			status, err := os.ReadFile(thread)
			if err == nil && strings.Contains(string(status), "\nTracerPid:\t0\n") {
				return thread + " is free", false
			}
		}
		return nil, true
	})
	return trace
}
