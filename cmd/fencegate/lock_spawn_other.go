//go:build !linux

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts a program in a process group of its own. Outside Linux nothing
// ends it if fencegate is killed, nor reaches who leaves the group.
func spawn(p *program, t terminal) (int, error) {
	return syscall.ForkExec(p.path, p.args, &syscall.ProcAttr{
		Env:   p.env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Foreground: t.group != 0},
	})
}

// reap takes note of the command's end, and reports whether its group is empty.
func (w *watch) reap() bool {
	for w.endedAt.IsZero() {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(w.child, &status, syscall.WNOHANG|syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err != nil || pid == 0:
			return false
		default:
			w.ended(status)
		}
	}
	return syscall.Kill(-w.child, 0) == syscall.ESRCH
}

func (w *watch) signal(s syscall.Signal) { _ = syscall.Kill(-w.child, s) }

func (w *watch) stop() { w.signal(syscall.SIGSTOP) }

func (w *watch) unstop() { w.signal(syscall.SIGCONT) }

// orphaned reports whether no shell could let fencegate go on.
func orphaned() bool {
	group, err := unix.Getpgid(os.Getppid())
	if err != nil || group == unix.Getpgrp() {
		return err != nil
	}
	theirs, err := unix.Getsid(os.Getppid())
	own, _ := unix.Getsid(0)
	return err != nil || theirs != own
}
