package main

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the one on standard input, while fencegate is what the user sees
// there: the zero value is none. The command's process group must be the
// terminal's foreground then, or it would be stopped when it reads.
type terminal struct{ group int }

func ownTerminal() terminal {
	if group := foreground(); group == unix.Getpgrp() {
		return terminal{group}
	}
	return terminal{}
}

// foreground returns the process group that the terminal belongs to, 0 if
// there is no terminal.
func foreground() int {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// take makes fencegate's own group the foreground again.
func (t terminal) take() { t.give(t.group) }

func (t terminal) give(group int) {
	if t.group == 0 {
		return
	}
	// Who is not in the foreground is stopped for this, unless it ignores it.
	signal.Ignore(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group)
}

// pause: the user has stopped the command, so fencegate stops too, and its
// shell gets the terminal. The lease then runs out: only fencegate lets the
// command go on, and looks at the lease before.
func (w *watch) pause() {
	if w.terminal.group == 0 {
		return // whoever stopped it will let it go on
	}
	w.paused = true
	w.terminal.take()
	_ = syscall.Kill(0, syscall.SIGTSTP)
}

// resume: the shell's fg or bg.
func (w *watch) resume() {
	if next, _ := w.pace.next(w.lease.Remaining()); !w.paused || next == kill {
		return
	}
	w.paused = false
	if foreground() == w.terminal.group {
		w.terminal.give(w.child)
	}
	_ = syscall.Kill(-w.child, syscall.SIGCONT)
}
