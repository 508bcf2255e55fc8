package integration

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// lockCommand is fencegate lock on report. What follows in args are further
// flags, "--", and the command; -r and --redis replace what there is.
func (s *scene) lockCommand(args ...string) *exec.Cmd {
	s.t.Helper()
	return lockAt(s.t, s.redis.Addr(), s.fence.URL(), args...)
}

// lockScript runs a bash script under fencegate lock.
func (s *scene) lockScript(script string, flags ...string) *harness.Process {
	s.t.Helper()
	return harness.Start(s.t, "lock", s.lockCommand(append(flags, "--", "bash", "-c", script)...))
}

// pids reads a line "pids 17 18 …" of a script.
func pids(t testing.TB, p *harness.Process) (all []int) {
	t.Helper()
	for _, word := range strings.Fields(p.AwaitLine("pids "))[1:] {
		var pid int
		if _, err := fmt.Sscan(word, &pid); err != nil || pid <= 1 {
			t.Fatalf("%q is no process id", word)
		}
		all = append(all, pid)
		t.Cleanup(func() {
			if t.Failed() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
	return all
}

// left returns those of the processes that are still there.
func left(pids []int) (there []int) {
	for _, pid := range pids {
		if syscall.Kill(pid, 0) != syscall.ESRCH {
			there = append(there, pid)
		}
	}
	return there
}

func awaitGone(t testing.TB, pids []int) {
	t.Helper()
	harness.Eventually(t, "processes to be gone", func() (any, bool) {
		there := left(pids)
		return there, len(there) == 0
	})
}

// expiry returns when Redis gives the lock on report to another, on the clock
// of this machine, which is Redis' too; the zero time if it does now.
func (s *scene) expiry() time.Time {
	s.t.Helper()
	ms, err := s.rdb.PExpireTime(context.Background(), lockKey(report)).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms.Milliseconds())
}

// awaitRenewal returns the expiry just after a renewal, so that the next one
// is far off.
func (s *scene) awaitRenewal() time.Time {
	s.t.Helper()
	before := s.expiry()
	var now time.Time
	harness.Eventually(s.t, "the lease to be renewed", func() (any, bool) {
		now = s.expiry()
		return now, now.After(before)
	})
	return now
}

// saysOneLine checks what fencegate itself has printed: one line with all of
// words.
func saysOneLine(t testing.TB, p *harness.Process, words ...string) {
	t.Helper()
	lines := p.Stderr()
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "fencegate: ") {
		t.Fatalf(`stderr is %q, want one line from "fencegate:"`, lines)
	}
	for _, word := range words {
		if !strings.Contains(lines[0], word) {
			t.Errorf("line %q does not say %q", lines[0], word)
		}
	}
}

func wantCode(t testing.TB, p *harness.Process, want int) {
	t.Helper()
	if got := p.Wait(); got != want {
		t.Fatalf("exit code %d, want %d; stderr: %q", got, want, p.Stderr())
	}
}
