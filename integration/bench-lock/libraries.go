package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"fencegate/lockclient"
)

const ttl = 15 * time.Second

// poll is how often the two that do not subscribe look whether a lock is free:
// their own defaults are 100 ms and more.
const poll = 10 * time.Millisecond

// take acquires the lock on a name, however long that takes, and returns what
// gives it back.
type take func(ctx context.Context, name string) (release func() error, err error)

// library is one contender. open returns how it takes locks, and what ends it.
type library struct {
	name string
	open func(*redis.Client) (take, func(), error)
}

var libraries = []library{{"lockclient", openLockclient}, {"redislock", openRedislock}, {"redsync", openRedsync}}

func openLockclient(rdb *redis.Client) (take, func(), error) {
	c, err := lockclient.New(rdb, lockclient.WithTTL(ttl), lockclient.WithMaxWait(time.Hour))
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, name string) (func() error, error) {
		l, err := c.Lock(ctx, name)
		if err != nil {
			return nil, err
		}
		if l.Token() == 0 {
			return nil, errors.New("no token")
		}
		return func() error { return l.Unlock(ctx) }, nil
	}, func() { _ = c.Close() }, nil
}

func openRedislock(rdb *redis.Client) (take, func(), error) {
	c := redislock.New(rdb)
	wait := &redislock.Options{RetryStrategy: redislock.LinearBackoff(poll)}
	return func(ctx context.Context, name string) (func() error, error) {
		l, err := c.Obtain(ctx, name, ttl, wait)
		if err != nil {
			return nil, err
		}
		return func() error { return l.Release(ctx) }, nil
	}, func() {}, nil
}

func openRedsync(rdb *redis.Client) (take, func(), error) {
	c := redsync.New(goredis.NewPool(rdb))
	return func(ctx context.Context, name string) (func() error, error) {
		m := c.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(1<<30), redsync.WithRetryDelay(poll))
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return func() error { _, err := m.UnlockContext(ctx); return err }, nil
	}, func() {}, nil
}
