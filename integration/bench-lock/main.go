// Command bench-lock compares what a lock costs: acquisition, token and release
// by lockclient, against bsm/redislock and go-redsync/redsync, which give no
// token. All run against one real redis-server, in turns, so that what else the
// machine does meets all of them. Each has a pool of its own, with go-redis'
// defaults but for ContextTimeoutEnabled, which lockclient.New advises, and a turn begins when every client has had its lock once: then
// connections stand, scripts are loaded and lockclient has looked at Redis'
// settings. CPU is what an operation takes of this process and of redis-server,
// which share the machine. It is a module of its own: the other two must
// not become dependencies of fencegate.
//
//	make bench-lock ARGS='-rounds 31 -for 1s'
//	make bench-lock ARGS='-clients 1 -profile lockclient.pprof'
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	rounds := flag.Int("rounds", 15, "rounds in which each library has its turn")
	turn := flag.Duration("for", 300*time.Millisecond, "how long a turn lasts")
	clients := flag.Int("clients", 0, "only so many clients with a lock for each; 0 for all scenarios")
	cancellable := flag.Bool("cancellable", false, "take the locks under a context that can be cancelled")
	flag.BoolVar(&unbounded, "unbounded", false, "go-redis without ContextTimeoutEnabled")
	cpu := flag.String("profile", "", "write a CPU profile of lockclient's turns to this file; the others have none")
	flag.Parse()
	if *cancellable {
		ctx, cancel := context.WithCancel(caller)
		defer cancel()
		caller = ctx
	}
	addr, stop, err := startRedis()
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	fmt.Printf("GOMAXPROCS %d, %d rounds of %s a turn; ops/s median (min–max); CPU of this process + of redis-server\n", runtime.GOMAXPROCS(0), *rounds, *turn)
	scenarios := []scenario{{1, false}, {16, false}, {64, false}, {64, true}}
	if *clients > 0 {
		scenarios = []scenario{{*clients, false}}
	}
	if *cpu != "" {
		libraries = libraries[:1]
		f, err := os.Create(*cpu)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			log.Print(err)
			return
		}
		defer f.Close()
		defer pprof.StopCPUProfile()
	}
	for _, s := range scenarios {
		compare(s, addr, *rounds, *turn)
	}
}

// caller is the context under which locks are taken.
var caller = context.Background()

var unbounded bool

// compare runs one scenario and prints a line for each library. The order in a
// round changes, so that nobody always comes after the same.
func compare(s scenario, addr string, rounds int, turn time.Duration) {
	results := make([][]result, len(libraries))
	for round := range rounds {
		for i := range libraries {
			k := (i + round) % len(libraries)
			results[k] = append(results[k], run(libraries[k], s, addr, turn))
		}
	}
	var medians []float64
	for _, of := range results {
		medians = append(medians, median(of, func(r result) float64 { return r.perSecond }))
	}
	fmt.Printf("\n%s\n", s)
	for k, l := range libraries {
		each := make([]float64, 0, rounds)
		for _, r := range results[k] {
			each = append(each, r.perSecond)
		}
		fmt.Printf("  %-11s %8.0f (%.0f–%.0f)  %4.0f allocations/op  CPU/op %5.1f + %4.1f µs", l.name, medians[k], slices.Min(each), slices.Max(each),
			median(results[k], func(r result) float64 { return r.allocations }),
			median(results[k], func(r result) float64 { return r.cpu }), median(results[k], func(r result) float64 { return r.redisCPU }))
		if k > 0 {
			fmt.Printf("  lockclient has %.2f of it", medians[0]/medians[k])
		}
		fmt.Println()
	}
	if len(libraries) > 1 {
		fmt.Printf("  lockclient / faster of the others: %.2f\n", medians[0]/slices.Max(medians[1:]))
	}
}

func median(of []result, value func(result) float64) float64 {
	var all []float64
	for _, r := range of {
		all = append(all, value(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// startRedis starts a redis-server of its own, which keeps nothing on disk.
func startRedis() (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	dir, err := os.MkdirTemp("", "bench-lock-*")
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("%w (make setup installs it)", err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err = rdb.Ping(context.Background()).Err(); err == nil {
			return addr, stop, nil
		}
		if time.Now().After(deadline) {
			stop()
			return "", nil, err
		}
	}
}
