package main

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is one whose foreground fencegate is, or was before the command: the
// zero value is none. The command's process group must be the foreground then,
// or it would be stopped when it reads.
type terminal struct{ fd, group int }

func ownTerminal(fd int) terminal {
	if group := foreground(fd); group == unix.Getpgrp() {
		return terminal{fd, group}
	}
	return terminal{}
}

// controlling is for a command that asks for the terminal by itself. From the
// start it gets only the one on standard input: a command that a script has put
// into the background must not take the terminal from the script.
func controlling() terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return terminal{}
	}
	t := ownTerminal(fd)
	if t.group == 0 {
		_ = unix.Close(fd)
	}
	return t
}

// foreground returns the process group that a terminal belongs to, 0 if it is
// no terminal.
func foreground(fd int) int {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
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
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
}

// lend makes the command the foreground if fencegate is, and reports whether.
func (w *watch) lend() bool {
	if w.terminal.group == 0 {
		w.terminal = controlling()
	}
	if w.terminal.group == 0 || foreground(w.terminal.fd) != w.terminal.group {
		return false
	}
	w.terminal.give(w.child)
	return true
}
