package main

import (
	"context"
	"fmt"
	"time"

	"fencegate/fence"
	"fencegate/lockclient"
)

// byLock claims without being a holder: it takes the lock, which claims, and
// gives it back. Whoever held it before is cut off by then.
func (c *claimCmd) byLock(ctx context.Context, std streams) error {
	settings := []lockclient.Option{lockclient.WithFence(c.Fence), lockclient.WithMaxWait(time.Duration(c.Wait))}
	var token fence.Token
	err := c.underLock(ctx, std, c.Resource, c.Tree, settings, func(lock *lockclient.Lock) error {
		token = lock.Token()
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, token)
	return err
}
