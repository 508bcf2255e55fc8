package main

import (
	"context"
	"fmt"
	"log"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
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

type result struct {
	perSecond, allocations float64
	cpu, redisCPU          float64 // µs
}

// run gives a library its turn.
func run(l library, s scenario, addr string, turn time.Duration) result {
	rdb := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: !unbounded}) // for each
	defer rdb.Close()
	take, end, err := l.open(rdb)
	if err != nil {
		log.Fatalf("%s: %v", l.name, err)
	}
	defer end()
	ctx := caller
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
	cpu, redisCPU := usedCPU(rdb)
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
	cpuThen, redisThen := usedCPU(rdb)
	return result{
		n / took.Seconds(), float64(after.Mallocs-before.Mallocs) / n,
		(cpuThen - cpu) / n, (redisThen - redisCPU) / n,
	}
}

// usedCPU is what this process and Redis have used so far, in µs.
func usedCPU(rdb *redis.Client) (own, redis float64) {
	var self unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err != nil {
		log.Fatal(err)
	}
	own = float64(self.Utime.Nano()+self.Stime.Nano()) / 1e3
	info, err := rdb.Info(context.Background(), "cpu").Result()
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(info) {
		for _, name := range []string{"used_cpu_sys:", "used_cpu_user:"} {
			if v, ok := strings.CutPrefix(line, name); ok {
				s, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
				if err != nil {
					log.Fatal(err)
				}
				redis += s * 1e6
			}
		}
	}
	return own, redis
}
