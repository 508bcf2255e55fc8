package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/lockclient"
)

// A job rewrites one file, and knows afterwards whether it did.
func Example() {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	defer rdb.Close()
	locks, err := lockclient.New(rdb, lockclient.WithFence("http://localhost:8080"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()

	err = locks.Do(ctx, "/reports/q3.csv", func(ctx context.Context, l *lockclient.Lock) error {
		// ctx ends when the lock is lost: work that takes long watches it.
		client := &http.Client{Transport: l.Transport(nil)}
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://localhost:8080/reports/q3.csv", strings.NewReader("a,b\n"))
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 300 {
			return fmt.Errorf("the storage answered %s", resp.Status)
		}
		return nil
	})

	var fenced *lockclient.FencedError
	var unknown *lockclient.OutcomeUnknownError
	switch {
	case err == nil:
		fmt.Println("written")
	case errors.As(err, &unknown):
		// Before fenced: here the write may have been applied nevertheless.
		fmt.Println("look at the file before trying again:", unknown)
	case errors.As(err, &fenced):
		// Final. Somebody else holds the lock by now; this write never happened.
		fmt.Println("overtaken by token", fenced.Highest)
	case errors.Is(err, lockclient.ErrNotAcquired):
		fmt.Println("another job is at it")
	case errors.Is(err, lockclient.ErrLost):
		fmt.Println("the lease ended before the work was done:", err)
	default:
		fmt.Println(err)
	}
}

// Lock by hand, for work that is no single function.
func ExampleClient_Lock() {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer rdb.Close()
	locks, err := lockclient.New(rdb,
		lockclient.WithFence("http://localhost:8080"), lockclient.WithTTL(10*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()

	l, err := locks.Lock(ctx, "/blocks/t1", lockclient.WithTree(), lockclient.WithMaxWait(5*time.Second))
	if err != nil {
		fmt.Println(err) // nothing is held
		return
	}
	defer func() {
		// Works although ctx may be cancelled by now.
		if err := l.Unlock(ctx); errors.Is(err, lockclient.ErrNotHeld) {
			fmt.Println("what was done last may not have been alone:", err)
		}
	}()
	select {
	case <-l.Lost():
		fmt.Println(context.Cause(l.Context())) // a *lockclient.LostError
	case <-time.After(l.Remaining() / 2):
		fmt.Println("still holding token", l.Token())
	}
}
