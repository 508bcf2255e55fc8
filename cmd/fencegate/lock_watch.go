package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fencegate/lockclient"
)

// forwarded are the signals that are for the command when fencegate gets them.
var forwarded = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// notIgnored leaves out what whoever started fencegate wants to be ignored, as
// nohup does: to ask for it would undo that, for the command too.
func notIgnored(signals []os.Signal) (left []os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			left = append(left, s)
		}
	}
	return left
}

// killPatience is how long killed processes may take to vanish before it is
// told that they may go on after the lease.
const killPatience = 5 * time.Second

// watch keeps a command and all that it starts within its lease. One goroutine
// signals and reaps, so that no number is signalled that is free again.
type watch struct {
	lease    interface{ Remaining() time.Duration } // told by the local clock alone
	pace     pace
	child    int // also its process group
	terminal terminal

	status  syscall.WaitStatus
	endedAt time.Time      // when the command itself ended, zero until then
	stops   chan os.Signal // what would stop fencegate
	paused  bool           // stopped together with fencegate
	asks    bool           // it was stopped for using the terminal
	refused bool           // and was told to end for that

	asked   bool      // TERM was sent
	killing time.Time // since when KILL is sent
	forced  bool      // the lease has ended the command
	stuck   bool      // killed processes would not go
}

// startWatched starts a command. The calling goroutine keeps its thread.
func startWatched(p *program, lock *lockclient.Lock, pace pace) (*watch, error) {
	if err := lock.Err(); err != nil {
		return nil, &exitError{exitLost, err}
	}
	w := &watch{lease: lock, pace: pace, terminal: ownTerminal(0)}
	w.catchStops() // before there is something that would be left running
	var err error
	if w.child, err = spawn(p, w.terminal); err != nil {
		signal.Reset(stopping...)
		return nil, startError(p.path, err)
	}
	return w, nil
}

// untilGone returns when nothing of the command is left.
func (w *watch) untilGone(signals <-chan os.Signal, lost <-chan struct{}) {
	defer func() {
		signal.Reset(stopping...)
		w.terminal.take()
	}()
	for timer := time.NewTimer(0); ; {
		if w.reap() || w.stuck {
			return
		}
		timer.Reset(w.act(time.Now()))
		select {
		case <-timer.C:
		case <-lost:
			lost = nil // from now on nothing remains
		case s := <-signals:
			w.take(s.(syscall.Signal))
		case <-w.stops:
			w.pause(false)
		}
	}
}

// act does what is due now and returns when to look again at the latest.
func (w *watch) act(now time.Time) time.Duration {
	left := w.lease.Remaining()
	next, wait := w.pace.next(left)
	if w.endedAt.IsZero() {
		w.forced = w.forced || next != goOn
	} else {
		// What it left running gets as much time as there is for a command.
		rest := w.endedAt.Add(w.pace.term - w.pace.kill).Sub(now)
		switch {
		case rest <= 0:
			next, wait = kill, killEvery
		case next == goOn:
			next, wait = term, min(rest, lookEvery)
		}
	}
	switch next {
	case term:
		if !w.asked {
			w.asked = true
			w.signal(syscall.SIGTERM)
			w.signal(syscall.SIGCONT) // one that is stopped would not hear it
		}
	case kill:
		if w.killing.IsZero() {
			w.killing = now
		}
		w.signal(syscall.SIGKILL)
		w.stuck = left == 0 && now.Sub(w.killing) > killPatience
	}
	return wait
}

// take heeds a signal to fencegate itself.
func (w *watch) take(s syscall.Signal) {
	switch s {
	case syscall.SIGCHLD:
	case syscall.SIGCONT:
		w.resume()
	default:
		if w.endedAt.IsZero() {
			_ = syscall.Kill(-w.child, s)
			w.letGoOn() // one that is stopped would not hear it
		}
	}
}

// ended notes what the kernel tells of the command itself.
func (w *watch) ended(status syscall.WaitStatus) {
	if status.Stopped() {
		w.stopped(status.StopSignal())
		return
	}
	w.status, w.endedAt = status, time.Now()
}

// verdict returns what fencegate lock ends with.
func (w *watch) verdict(lock *lockclient.Lock) error {
	switch {
	case w.stuck:
		return &exitError{exitUnknown, fmt.Errorf("the lock on %s is lost, and killed processes of the command have not ended: they may still write", lock.Resource())}
	case w.forced && lock.Err() != nil:
		return &exitError{exitLost, inOneLine(fmt.Errorf("%w; the command was ended", lock.Err()))}
	case w.forced:
		return &exitError{exitLost, fmt.Errorf("the lock on %s could not be renewed in time; the command was ended before it ran out", lock.Resource())}
	case w.status.Signaled():
		return &exitError{code: 128 + int(w.status.Signal())}
	case w.status.ExitStatus() != 0:
		return &exitError{code: w.status.ExitStatus()}
	}
	return nil
}
