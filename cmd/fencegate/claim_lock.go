package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"fencegate/lockclient"
)

// byLock claims without being a holder: it takes the lock, which claims, and
// gives it back. Whoever held it before is cut off by then.
func (c *claimCmd) byLock(ctx context.Context, std streams) error {
	redis.SetLogger(quiet{})
	options, err := redisOptions(c.Redis)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	settings := []lockclient.Option{
		lockclient.WithFence(c.Fence), lockclient.WithMaxWait(c.Wait), lockclient.WithNamespace(c.Namespace),
	}
	if c.Tree {
		settings = append(settings, lockclient.WithTree())
	}
	locks, err := lockclient.New(rdb, settings...)
	if err != nil {
		return &exitError{exitUsage, inOneLine(err)}
	}
	defer locks.Close()
	lock, err := locks.Lock(ctx, c.Resource)
	if err != nil {
		return &exitError{notTaken(err, exitHeld), inOneLine(err)}
	}
	token := lock.Token()
	if err := lock.Unlock(ctx); err != nil {
		return &exitError{exitLost, inOneLine(err)}
	}
	_, err = fmt.Fprintln(std.out, token)
	return err
}
