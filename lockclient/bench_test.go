package lockclient

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// BenchmarkAcquireRelease takes and releases locks that nobody else wants, by
// so many clients at once, each with a name of its own and all on one pool.
func BenchmarkAcquireRelease(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			addr := "127.0.0.1:" + benchRedis(b)
			rdb := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64})
			defer func() { _ = rdb.Close() }()
			c, err := New(rdb)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for i := range clients {
				wg.Go(func() {
					name := fmt.Sprintf("/bench/%d", i)
					for next.Add(1) <= int64(b.N) {
						l, err := c.TryLock(context.Background(), name)
						if err == nil {
							err = l.Unlock(context.Background())
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkQuorum reports the median time of an acquisition in three nodes, with
// all alive and with one of them dead, alternating, and their ratio.
func BenchmarkQuorum(b *testing.B) {
	client := func(dead bool) *Client {
		var rdbs []redis.UniversalClient
		for i := range 3 {
			port := ""
			if dead && i == 2 {
				ln, err := net.Listen("tcp", "127.0.0.1:0") // it accepts and never answers
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = ln.Close() })
				port = fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
			} else {
				port = benchRedis(b)
			}
			rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, ContextTimeoutEnabled: true})
			b.Cleanup(func() { _ = rdb.Close() })
			rdbs = append(rdbs, rdb)
		}
		c, err := NewRedlock(rdbs, WithTTL(time.Second))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		return c
	}
	alive, dead := client(false), client(true)
	took := map[*Client][]time.Duration{}
	for range b.N {
		for _, c := range []*Client{alive, dead} {
			begin := time.Now()
			l, err := c.Lock(context.Background(), "/r")
			took[c] = append(took[c], time.Since(begin))
			if err == nil {
				err = l.Unlock(context.Background())
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	median := func(c *Client) float64 {
		slices.Sort(took[c])
		return float64(took[c][len(took[c])/2])
	}
	b.ReportMetric(median(alive)/1e3, "µs-alive")
	b.ReportMetric(median(dead)/1e3, "µs-dead")
	b.ReportMetric(median(dead)/median(alive), "dead/alive")
	b.ReportMetric(0, "ns/op")
}

// benchRedis starts a node and returns its port.
func benchRedis(b *testing.B) string {
	b.Helper()
	port := freePort(b)
	redisCommand(b, "--bind", "127.0.0.1", "--port", port, "--dir", b.TempDir())
	return port
}
