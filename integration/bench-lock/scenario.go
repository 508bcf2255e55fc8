package main

import (
	"context"
	"fmt"
	"log"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// scenario is so many clients, each with a lock of its own, or all waiting for
// one: then each gets it once, and only when all had it they ask again. Else the
// one that gives it back would take it again at once, and most would starve
// without a mark in the numbers.
type scenario struct {
	clients int
	waiting bool
}

func (s scenario) String() string {
	if s.waiting {
		return fmt.Sprintf("%d waiters on one lock, each gets it once", s.clients)
	}
	return fmt.Sprintf("%d clients, a lock for each", s.clients)
}

type result struct{ perSecond, allocations float64 }

// run gives a library its turn.
func run(l library, s scenario, addr string, turn time.Duration) result {
	rdb := redis.NewClient(&redis.Options{Addr: addr}) // as it is by default, for each
	defer rdb.Close()
	take, end, err := l.open(rdb)
	if err != nil {
		log.Fatalf("%s: %v", l.name, err)
	}
	defer end()
	ctx := context.Background()
	names := make([]string, s.clients)
	for i := range names {
		names[i] = fmt.Sprintf("/bench/%d", i)
		if s.waiting {
			names[i] = "/bench/one"
		}
	}
	once := func(name string) {
		release, err := take(ctx, name)
		if err == nil {
			err = release()
		}
		if err != nil {
			log.Fatalf("%s: %v", l.name, err)
		}
	}
	all := func(f func(name string)) {
		var wg sync.WaitGroup
		for _, name := range names {
			wg.Go(func() { f(name) })
		}
		wg.Wait()
	}
	all(once) // connections, scripts
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var count atomic.Int64
	begin := time.Now()
	if s.waiting {
		for time.Since(begin) < turn {
			all(func(name string) { once(name); count.Add(1) })
		}
	} else {
		all(func(name string) {
			for time.Since(begin) < turn {
				once(name)
				count.Add(1)
			}
		})
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	n := float64(count.Load())
	return result{n / took.Seconds(), float64(after.Mallocs-before.Mallocs) / n}
}
