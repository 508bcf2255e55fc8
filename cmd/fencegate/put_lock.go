package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fencegate/lockclient"
)

// locked takes the lock for the time of writing. A lock that turns out to be
// lost when all has been stored changes nothing: the fence had it in order.
func (c *putCmd) locked(ctx context.Context, std streams, w *writer, uploads []upload, faults *putFaults) error {
	settings := []lockclient.Option{lockclient.WithFence(c.Fence), lockclient.WithMaxWait(time.Duration(c.Wait)), lockclient.WithTTL(c.TTL)}
	return c.underLock(ctx, std, c.Resource, c.Recursive, settings, func(lock *lockclient.Lock) error {
		w.use(lock.Transport(onceOnly()), lock.Context())
		return w.all(ctx, uploads, faults)
	})
}

// underLock takes a lock, does something, and gives the lock back.
func (f *redisFlags) underLock(ctx context.Context, std streams, resource string, tree bool, settings []lockclient.Option, do func(*lockclient.Lock) error) error {
	if tree {
		settings = append(settings, lockclient.WithTree())
	}
	locks, closeAll, err := f.open(std.err, settings...)
	if err != nil {
		return err
	}
	defer closeAll()
	defer closeSoon(locks)
	lock, err := locks.Lock(ctx, resource)
	if err != nil {
		return notLocked(ctx, err)
	}
	err = do(lock)
	letGo(std, lock)
	return err
}

// notLocked is why put and claim have not got their lock.
func notLocked(ctx context.Context, err error) error {
	if code := toldCode(ctx); code != 0 {
		return &exitError{code, fmt.Errorf("%w while waiting for the lock", context.Cause(ctx))}
	}
	return &exitError{notTaken(err, exitHeld), inOneLine(err)}
}

// letGo gives a lock back after what it was taken for is done. What goes wrong
// with that concerns the next holder only.
func letGo(std streams, lock *lockclient.Lock) {
	if err := lock.Unlock(context.Background()); err != nil && !errors.Is(err, lockclient.ErrNotHeld) {
		writeWithin(std.err, logPatience, fmt.Sprintln("fencegate:", inOneLine(fmt.Errorf("%w; the next holder has to wait until the lock expires", err))))
	}
}
