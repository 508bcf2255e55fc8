package harness

import (
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Process is a running child of the test.
type Process struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	out    *output
	next   int // where AwaitLine goes on
	stdin  io.WriteCloser
	exited chan struct{}
}

// shownLines of output are printed when a test fails.
const shownLines = 200

// Start starts cmd, which the caller has made with exec.Command; name is what
// messages call it. Without an environment of its own it gets the test's, less
// what would configure fencegate.
func Start(t testing.TB, name string, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, name: name, cmd: cmd, out: newOutput(), exited: make(chan struct{})}
	if cmd.Env == nil {
		cmd.Env = cleanEnv()
	}
	writers := []*lineWriter{{stream: stdout, to: p.out}, {stream: stderr, to: p.out}}
	cmd.Stdout, cmd.Stderr = writers[0], writers[1]
	cmd.WaitDelay = time.Second // for children of its own that keep our pipes open
	ownGroup(cmd)
	if err := spawn(cmd); err != nil {
		t.Fatalf("%s does not start: %v", name, err)
	}
	go func() {
		cmd.Wait() // ProcessState has all that there is to know
		for _, w := range writers {
			w.flush()
		}
		p.out.end()
		close(p.exited)
	}()
	t.Cleanup(p.cleanup)
	return p
}

func (p *Process) cleanup() {
	p.end()
	for _, text := range p.out.of(stderr) {
		if strings.Contains(text, "WARNING: DATA RACE") {
			p.t.Errorf("%s has a data race", p.name)
			break
		}
	}
	if p.t.Failed() {
		p.t.Logf("%s (%v) printed, last %d lines:\n%s", p.name, p.cmd.ProcessState, shownLines, p.out.tail(shownLines))
	}
}

// end kills what is left of the process: the whole group, and also when its
// leader is gone, since what it started must not outlive the test either.
func (p *Process) end() {
	syscall.Kill(-p.PID(), syscall.SIGKILL)
	<-p.exited
}

// PID returns the process id, which is also the id of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended and all its output is there.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Signal sends sig to the process and its group.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	select {
	case <-p.exited:
		p.t.Fatalf("%s gets signal %v but has ended: %v", p.name, sig, p.cmd.ProcessState)
	default:
	}
	if err := syscall.Kill(-p.PID(), sig); err != nil {
		p.t.Fatalf("%s gets signal %v: %v", p.name, sig, err)
	}
}

// Pause stops the process as a suspended machine stops. When it returns, not
// one of its threads runs any more.
func (p *Process) Pause() {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP)
	Eventually(p.t, p.name+" to stand still", func() (any, bool) { return threadStates(p.PID()) })
}

// Resume lets a paused process go on.
func (p *Process) Resume() {
	p.t.Helper()
	p.Signal(syscall.SIGCONT)
}

// Kill kills the process, paused or not, as kill -9 does, and waits until it
// is gone. One that has ended by itself before is an error: the test meant to
// kill it.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Wait waits for the process to end and returns its exit code as shells give
// it: 128 and the signal's number if a signal ended it.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(Patience):
		p.t.Fatalf("%s has not ended within %v", p.name, Patience)
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}
