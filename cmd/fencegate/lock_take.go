package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"

	"fencegate/lockclient"
)

// take waits for the lock. A signal that would be forwarded to the command
// ends the wait, as it ends a process that does not handle it.
func (c *lockCmd) take(locks *lockclient.Client, signals <-chan os.Signal) (*lockclient.Lock, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	acquire := locks.LockMulti
	if c.NoWait {
		acquire = locks.TryLockMulti
	}
	type taken struct {
		lock *lockclient.Lock
		err  error
	}
	done := make(chan taken, 1)
	go func() {
		lock, err := acquire(ctx, c.Resource)
		done <- taken{lock, err}
	}()
	var told syscall.Signal
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGCONT || s == syscall.SIGCHLD {
				continue
			}
			told = s.(syscall.Signal)
			cancel()
		case got := <-done:
			switch {
			case told != 0:
				if got.lock != nil { // in the very moment
					_ = got.lock.Unlock(context.Background())
				}
				return nil, &exitError{128 + int(told), fmt.Errorf("told to end (%s) while waiting for the lock on %s", told, strings.Join(c.Resource, ", "))}
			case got.err != nil:
				return nil, &exitError{notTaken(got.err, c.Code), inOneLine(got.err)}
			}
			return got.lock, nil
		}
	}
}

// notTaken returns the exit code for why there is no lock.
func notTaken(err error, notInTime int) int {
	var fenced *lockclient.FencedError
	var gap *lockclient.TokenGapError
	var refused *lockclient.ClaimError
	switch {
	case errors.As(err, &fenced), errors.As(err, &gap), errors.Is(err, lockclient.ErrLost):
		return exitLost
	case errors.Is(err, lockclient.ErrSameNode):
		return exitUsage
	case errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 500:
		return exitUsage // as asked for it can never be claimed
	case errors.As(err, &refused) && refused.Status != http.StatusServiceUnavailable:
		return exitUnavailable
	case refused != nil, errors.Is(err, lockclient.ErrNotAcquired):
		return notInTime
	}
	return exitUnavailable
}

// giveBack releases the lock and returns what fencegate lock ends with: verdict,
// unless the release tells that the lock had not been held to the end.
func giveBack(std streams, lock *lockclient.Lock, verdict error) error {
	err := lock.Unlock(context.Background())
	var own *exitError
	switch known := errors.As(verdict, &own); {
	case known && (own.code == exitLost || own.code == exitUnknown) && own.err != nil:
		return verdict // which says so already
	case errors.Is(err, lockclient.ErrNotHeld):
		return &exitError{exitLost, inOneLine(fmt.Errorf("the command has ended, but may not have been alone: %w", err))}
	case err != nil:
		fmt.Fprintln(std.err, "fencegate:", inOneLine(fmt.Errorf("%w; the next holder has to wait until the lock expires", err)))
	}
	return verdict
}

func inOneLine(err error) error {
	if !strings.ContainsAny(err.Error(), "\r\n") {
		return err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
