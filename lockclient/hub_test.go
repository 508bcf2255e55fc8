package lockclient

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

var commandCalls = regexp.MustCompile(`cmdstat_(evalsha|eval|subscribe|unsubscribe):calls=(\d+)`)

// asked counts what clients have sent for locks: scripts and subscriptions, and
// not the commands inside scripts.
func (s *server) asked() int {
	n := 0
	for _, m := range commandCalls.FindAllStringSubmatch(s.rdb.Info(context.Background(), "commandstats").Val(), -1) {
		calls, _ := strconv.Atoi(m[2])
		n += calls
	}
	return n
}

// poor returns a client with a pool of two connections.
func (s *server) poor(opts ...Option) *Client {
	s.t.Helper()
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.rdb.Options().Addr, PoolSize: 2})
	c, err := New(rdb, opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close(); _ = rdb.Close() })
	return c
}

// Sixty-four waiters, in one client or in two, with two connections each: few
// commands while the lock is held, few for each hand-over, and nobody sleeps
// until the TTL is over.
func TestManyWaiters(t *testing.T) {
	const waiters = 64
	for _, clients := range []int{1, 2, 8} {
		t.Run(strconv.Itoa(clients), func(t *testing.T) {
			s := startRedis(t)
			s.rdb.ConfigResetStat(t.Context())
			l := mustLock(t, s.client(), "/r", WithTTL(time.Hour))
			var wg sync.WaitGroup
			begin := time.Now()
			all := make([]*Client, clients)
			for i := range all {
				all[i] = s.poor(WithTTL(time.Hour))
				for range waiters / clients {
					wg.Go(func() {
						l, err := all[i].Lock(context.Background(), "/r")
						if err == nil {
							err = l.Unlock(context.Background())
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
			}
			for _, c := range all {
				waiting(t, c, testChannel, waiters/clients)
			}
			time.Sleep(time.Until(begin.Add(time.Second))) // the second that is counted
			if n := s.asked(); n > 4*waiters {
				t.Errorf("%d commands in the first second of %d waiters", n, waiters)
			} else {
				t.Logf("%d commands in the first second", n)
			}
			s.rdb.ConfigResetStat(t.Context())
			begin = time.Now()
			if err := l.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { wg.Wait(); close(done) }()
			within(t, time.Minute, done, "all hand-overs")
			n := s.asked()
			t.Logf("%d hand-overs in %v with %.1f commands each", waiters, time.Since(begin), float64(n)/waiters)
			if n > 12*waiters {
				t.Errorf("%d commands for %d hand-overs", n, waiters)
			}
			for _, c := range all {
				c.work.wait()
			}
			subs := s.rdb.PubSubNumSub(t.Context(), testChannel).Val()
			if subs[testChannel] != 0 {
				t.Errorf("%d subscriptions are left", subs[testChannel])
			}
		})
	}
}

// Without messages (no permission to subscribe, say) the first in the queue
// looks for itself, and whoever comes after it takes its place.
func TestWaitersWithoutMessages(t *testing.T) {
	s := startRedis(t)
	if err := s.rdb.Do(t.Context(), "ACL", "SETUSER", "mute", "on", ">pw", "~*", "resetchannels", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	// The holder may publish, the waiters may not hear it.
	l := mustLock(t, s.client(), "/r", WithTTL(time.Hour))
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.rdb.Options().Addr, Username: "mute", Password: "pw"})
	c, err := New(rdb, WithTTL(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); _ = rdb.Close() })
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			// Its own release fails in Redis, as it may not publish: it gives up.
			if l, err := c.Lock(context.Background(), "/r"); err != nil {
				t.Error(err)
			} else {
				s.rdb.Del(context.Background(), keyR)
				_ = l.Unlock(context.Background())
			}
		})
	}
	eventually(t, 5*time.Second, "they queue", func() bool {
		c.waiters.mu.Lock()
		defer c.waiters.mu.Unlock()
		sub := c.waiters.subs[testChannel]
		return sub != nil && len(sub.queue) == 3
	})
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	within(t, 30*time.Second, done, "all three")
}

// Whoever gives up at the head of the queue leaves the looking to the next.
func TestTheHeadOfTheQueueIsInherited(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	l := mustLock(t, s.client(), "/r", WithTTL(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	first := lockLater(c, ctx)
	waiting(t, c, testChannel, 1)
	second := lockLater(c, t.Context())
	waiting(t, c, testChannel, 2)
	// The message comes while the first one leaves.
	cancel()
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := within(t, 10*time.Second, second, "the second"); err != nil {
		t.Error(err)
	}
	<-first
}
