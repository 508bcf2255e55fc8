package main

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts a program in a process group of its own that dies with
// fencegate, and makes fencegate the parent of whatever loses its own.
func spawn(p *program, t terminal) (int, error) {
	// Pdeathsig is sent when the thread that forked ends, see
	// https://go.dev/issue/27505: so it must not, before the process does.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	return syscall.ForkExec(p.path, p.args, &syscall.ProcAttr{
		Env:   p.env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Foreground: t.group != 0},
	})
}

// reap takes note of who has ended, and reports whether nobody is left: who
// descends from the command has an ancestor among fencegate's children.
func (w *watch) reap() bool {
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return true
		case pid == 0:
			return false
		case pid == w.child:
			w.ended(status)
		}
	}
}

// signal reaches the group, and also who has left it and lost its parent, be it
// by another signal before. A group's number may be another's once the command
// has been reaped; that of a child cannot.
func (w *watch) signal(s syscall.Signal) {
	group := 0
	if w.endedAt.IsZero() {
		group = w.child
		_ = syscall.Kill(-group, s)
	}
	for _, c := range children() {
		if c.group != group { // nobody gets it twice
			_ = syscall.Kill(c.pid, s)
		}
	}
}
