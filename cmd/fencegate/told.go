package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// told is why a command ends early: a signal asked for it.
type told struct{ signal syscall.Signal }

func (t *told) Error() string { return "told to end (" + t.signal.String() + ")" }

// untilTold returns a context that INT, TERM or HUP ends with a *told as cause.
func untilTold() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	if caught := notIgnored([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}); len(caught) > 0 {
		signal.Notify(signals, caught...)
	}
	go func() {
		select {
		case s := <-signals:
			cancel(&told{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// toldCode returns the exit code of a command that was told to end, as shells
// have it; 0 if it was not.
func toldCode(ctx context.Context) int {
	var t *told
	if errors.As(context.Cause(ctx), &t) {
		return 128 + int(t.signal)
	}
	return 0
}
