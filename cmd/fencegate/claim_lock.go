package main

import (
	"context"
	"fmt"
	"time"

	"fencegate/lockclient"
)

// byLock claims without being a holder: it takes the lock, which claims, and
// gives it back. Whoever held it before is cut off by then.
func (c *claimCmd) byLock(ctx context.Context, std streams) error {
	settings := []lockclient.Option{lockclient.WithFence(c.Fence), lockclient.WithMaxWait(time.Duration(c.Wait))}
	if c.Tree {
		settings = append(settings, lockclient.WithTree())
	}
	locks, closeAll, err := c.open(std.err, settings...)
	if err != nil {
		return err
	}
	defer closeAll()
	defer closeSoon(locks)
	lock, err := locks.Lock(ctx, c.Resource)
	if err != nil {
		return notLocked(ctx, err)
	}
	token := lock.Token()
	letGo(std, lock)
	_, err = fmt.Fprintln(std.out, token)
	return err
}
