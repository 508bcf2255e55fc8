package integration

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// Signals to fencegate lock are the command's, which decides what they mean.
func TestLockForwardsSignals(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.lockScript(`for s in HUP INT QUIT USR1 USR2; do trap "echo got $s" $s; done
trap 'echo got TERM; exit 9' TERM
echo pids $$; while :; do sleep 0.02; done`)
	pids(t, p)
	for _, sig := range []struct {
		name   string
		number syscall.Signal
	}{
		{"HUP", syscall.SIGHUP}, {"INT", syscall.SIGINT}, {"QUIT", syscall.SIGQUIT},
		{"USR1", syscall.SIGUSR1}, {"USR2", syscall.SIGUSR2}, {"TERM", syscall.SIGTERM},
	} {
		p.Signal(sig.number)
		p.AwaitLine("got " + sig.name)
	}
	wantCode(t, p, 9)
	if said := strings.Join(p.Stderr(), "\n"); strings.Contains(said, "fencegate:") {
		t.Errorf("it adds to what the command says: %q", said)
	}
}

// One that ends the command is what fencegate lock ends with, too.
func TestLockEndsAsItsCommand(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.lockScript(`echo pids $$; exec sleep 1000`)
	pids(t, p)
	p.Signal(syscall.SIGINT)
	wantCode(t, p, 128+2)
	if !s.expiry().IsZero() {
		t.Error("the lock is not given back")
	}
}

// What ends the wait for a lock leaves nothing in Redis.
func TestLockIsInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	holder := s.lockScript(`echo pids $$; while :; do sleep 0.02; done`, "--ttl", "1m")
	pids(t, holder)
	p := s.lockScript(`echo never`)
	harness.Eventually(t, "the wait to begin", func() (any, bool) {
		n, err := s.rdb.PubSubNumSub(t.Context(), "{fencegate}:free:"+report).Result()
		return n, err == nil && n["{fencegate}:free:"+report] == 1
	})
	p.Signal(syscall.SIGTERM)
	wantCode(t, p, 128+15)
	saysOneLine(t, p, "waiting for the lock on "+report)
	if len(p.Stdout()) > 0 {
		t.Errorf("the command has run: %q", p.Stdout())
	}
	holder.Signal(syscall.SIGTERM)
	holder.Wait()
	if at := s.expiry(); !at.IsZero() {
		t.Errorf("the lock is held until %v", at)
	}
}

// nohup fencegate lock: the command is deaf to HUP as well.
func TestLockLeavesIgnoredSignalsIgnored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	inner := s.lockCommand("--", "bash", "-c", "kill -HUP $$; echo alive")
	p := harness.Start(t, "nohup", exec.Command("bash", append([]string{"-c", `trap '' HUP; exec "$@"`, "bash"}, inner.Args...)...))
	wantCode(t, p, 0)
	if said := strings.Join(p.Stdout(), "\n"); said != "alive" {
		t.Errorf("it prints %q", said)
	}
}

// Who waits gets the lock as soon as the command before has ended.
func TestLockWaitsForItsHolder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.lockScript(`trap 'exit 0' TERM; echo pids $$; while :; do sleep 0.02; done`, "--ttl", "10m")
	pids(t, first)
	begin := time.Now()
	second := s.lockScript("echo second", "-w", "5m")
	first.Signal(syscall.SIGTERM)
	wantCode(t, first, 0)
	wantCode(t, second, 0)
	if took := time.Since(begin); took > harness.Patience {
		t.Errorf("it took %v", took)
	}
}
