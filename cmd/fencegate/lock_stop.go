package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// While fencegate is stopped the lease runs out, so the command has to be
// stopped as well, and before.
var stopping = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

func (w *watch) catchStops() {
	w.stops = make(chan os.Signal, 8)
	if caught := notIgnored(stopping); len(caught) > 0 {
		signal.Notify(w.stops, caught...)
	}
}

// stopped heeds that the command has been stopped by a signal.
func (w *watch) stopped(by syscall.Signal) {
	if w.paused {
		return // by pause
	}
	w.asks = by == syscall.SIGTTIN || by == syscall.SIGTTOU
	switch {
	case w.asks && w.lend():
		w.letGoOn()
	case w.asks && orphaned():
		w.refuse()
	case w.asks || w.terminal.group != 0:
		w.pause(true)
	default: // whoever stopped it will let it go on
	}
}

// pause stops everything, fencegate last, so that its shell gets the terminal.
// The lease then runs out: only fencegate lets the command go on, and looks at
// the lease before. job tells to stop all of fencegate's group, as a terminal
// does.
func (w *watch) pause(job bool) {
	if orphaned() {
		w.letGoOn() // as for the kernel: nobody would let it go on later
		return
	}
	w.paused = true
	w.stop()
	w.terminal.take()
	if caught := !signal.Ignored(syscall.SIGTSTP); job && caught {
		signal.Ignore(syscall.SIGTSTP) // that one is for the others
		_ = syscall.Kill(0, syscall.SIGTSTP)
		signal.Notify(w.stops, syscall.SIGTSTP)
	}
	// Once caught, TSTP does not stop a Go program any more.
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// resume: the shell's fg or bg.
func (w *watch) resume() {
	if next, _ := w.pace.next(w.lease.Remaining()); !w.paused || next == kill {
		return
	}
	if w.asks || w.terminal.group != 0 {
		w.lend() // before it can be stopped for that again
	}
	w.letGoOn()
}

// letGoOn continues what was stopped, unless its time is over.
func (w *watch) letGoOn() {
	if next, _ := w.pace.next(w.lease.Remaining()); next == kill {
		return
	}
	if !w.paused {
		w.signal(syscall.SIGCONT)
		return
	}
	w.paused = false
	for len(w.stops) > 0 {
		<-w.stops // CONT takes back what came before it
	}
	w.unstop()
}

// refuse ends a command that waits for a terminal which nobody can give it: the
// lock would be held for nothing.
func (w *watch) refuse() {
	if w.refused {
		w.signal(syscall.SIGKILL)
		return
	}
	w.refused = true
	signal.Ignore(syscall.SIGTTOU) // to write must not stop fencegate
	fmt.Fprintln(os.Stderr, "fencegate: the command is stopped because it uses the terminal from the background, and no shell can let it go on; it is ended")
	w.signal(syscall.SIGTERM)
	w.letGoOn()
}
