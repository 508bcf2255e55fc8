package integration

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"fencegate/integration/harness"
)

// state is what /proc shows of a process: T is stopped.
func state(t testing.TB, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}

func awaitStopped(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		harness.Eventually(t, fmt.Sprintf("%d to be stopped", pid), func() (any, bool) {
			s := state(t, pid)
			return s, s == "T"
		})
	}
}

// Stopped without a terminal, fencegate stops what it has started first: the
// command does not go on when the lease is another's.
func TestLockThatIsStoppedStopsItsCommand(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			p := s.lockScript(stubborn, "--ttl", "1s")
			all := pids(t, p)
			p.Signal(sig)
			awaitStopped(t, append(all, p.PID())...)
			s.awaitFree(report)
			p.Signal(syscall.SIGCONT)
			wantCode(t, p, 76)
			if there := left(all); len(there) > 0 {
				t.Errorf("%v of %v outlive fencegate lock", there, all)
			}
		})
	}
}

// Let go on while the lease holds, the command does too, as often as it happens.
func TestLockThatIsStoppedGoesOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.lockScript(`trap 'echo got USR1' USR1; trap 'exit 4' TERM; echo pids $$; while :; do sleep 0.02; done`, "--ttl", "10m")
	all := pids(t, p)
	for range 3 {
		p.Signal(syscall.SIGTSTP)
		awaitStopped(t, append(all, p.PID())...)
		p.Signal(syscall.SIGCONT)
		p.Signal(syscall.SIGUSR1)
		p.AwaitLine("got USR1")
	}
	p.Signal(syscall.SIGTERM)
	wantCode(t, p, 4)
}

// Signals reach a command that somebody has stopped.
func TestLockForwardsSignalsToAStoppedCommand(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		s := newScene(t)
		p := s.lockScript(`echo pids $$; exec sleep 1000`)
		all := pids(t, p)
		if err := syscall.Kill(all[0], syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		awaitStopped(t, all...)
		p.Signal(sig)
		wantCode(t, p, 128+int(sig))
	}
}
