package lockclient

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// waiting returns once n calls wait for the lock with a standing subscription.
func waiting(t *testing.T, c *Client, channel string, n int) {
	t.Helper()
	eventually(t, 5*time.Second, "waiters are queued", func() bool {
		c.waiters.mu.Lock()
		defer c.waiters.mu.Unlock()
		s := c.waiters.subs[channel]
		return s != nil && s.confirmed && len(s.queue) == n
	})
}

const testChannel = "{fencegate}:free:/r"

func lockLater(c *Client, ctx context.Context, opts ...Option) <-chan error {
	done := make(chan error, 1)
	go func() {
		l, err := c.Lock(ctx, "/r", opts...)
		if err == nil {
			err = l.Unlock(context.Background())
		}
		done <- err
	}()
	return done
}

// A release wakes a waiter of another client long before the TTL is over.
func TestReleaseWakesAWaiter(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r", WithTTL(time.Hour))
	c := s.client()
	done := lockLater(c, t.Context())
	waiting(t, c, testChannel, 1)
	w := c.waiters.join(c, testChannel) // the one that listens in
	defer w.leave(true)
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := within(t, 5*time.Second, done, "Lock"); err != nil {
		t.Fatal(err)
	}
	t.Logf("acquired %v after the release", time.Since(begin))
	// The waiter's own release is the second message, for us.
	within(t, 5*time.Second, w.woken, "message")
}

// Without any message a waiter still gets the lock, by polling at its back-off
// and when the dead holder's key expires.
func TestAWaiterOutlastsADeadHolder(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	s.rdb.Set(t.Context(), "{fencegate}:lock:/r", "1:dead", 500*time.Millisecond)
	begin := time.Now()
	if err := within(t, 5*time.Second, lockLater(c, t.Context()), "Lock"); err != nil {
		t.Fatal(err)
	}
	t.Logf("acquired %v after the holder's death, TTL 500ms", time.Since(begin))
}

func TestTheWaitEnds(t *testing.T) {
	s := startRedis(t)
	mustLock(t, s.client(), "/r")
	cause := errors.New("operator said so")
	for name, tc := range map[string]struct {
		opts []Option
		end  func(*Client, context.CancelCauseFunc)
		want []error
	}{
		"max wait":  {[]Option{WithMaxWait(30 * time.Millisecond)}, func(*Client, context.CancelCauseFunc) {}, []error{ErrNotAcquired}},
		"cancelled": {nil, func(_ *Client, cancel context.CancelCauseFunc) { cancel(cause) }, []error{ErrNotAcquired, context.Canceled, cause}},
		"closed": {nil, func(c *Client, _ context.CancelCauseFunc) {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}, []error{ErrClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.client()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := lockLater(c, ctx, tc.opts...)
			if tc.opts == nil {
				waiting(t, c, testChannel, 1)
			}
			tc.end(c, cancel)
			err := within(t, 2*time.Second, done, "Lock")
			for _, want := range tc.want {
				if !errors.Is(err, want) {
					t.Errorf("%v does not match %v", err, want)
				}
			}
			c.work.wait()
			n, err := s.rdb.PubSubNumSub(context.Background(), testChannel).Result()
			if err != nil || n[testChannel] != 0 {
				t.Errorf("%d subscriptions are left, %v", n[testChannel], err)
			}
		})
	}
}

func TestAClosedClientTakesNoLocks(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	l := mustLock(t, c, "/held")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.TryLock(t.Context(), "/r"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// A woken waiter that gives up hands the wake-up on.
func TestAWakeUpIsHandedOn(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	first := c.waiters.join(c, testChannel)
	second := c.waiters.join(c, testChannel)
	within(t, 5*time.Second, first.woken, "confirmation")
	s.rdb.Publish(t.Context(), testChannel, "free")
	eventually(t, 5*time.Second, "the first is woken", func() bool { return len(first.woken) == 1 })
	if len(second.woken) != 0 {
		t.Error("one release woke both")
	}
	first.leave(false)
	within(t, time.Second, second.woken, "handed on")
	second.leave(false)
}

func TestMutualExclusion(t *testing.T) {
	s := startRedis(t)
	clients := []*Client{s.client(), s.client(), s.client(), s.client()}
	const workers, rounds = 64, 4
	var inside atomic.Int32
	var last uint64
	var wg sync.WaitGroup
	s.rdb.ConfigResetStat(t.Context())
	begin := time.Now()
	for i := range workers {
		wg.Go(func() {
			for range rounds {
				err := clients[i%len(clients)].Do(context.Background(), "/r", func(_ context.Context, l *Lock) error {
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d inside", n)
					}
					if token := uint64(l.Token()); token <= last { // the lock guards last
						t.Errorf("token %d after %d", token, last)
					} else {
						last = token
					}
					inside.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	calls := s.scriptCalls()
	t.Logf("%d acquisitions in %v, %d scripts", workers*rounds, time.Since(begin), calls)
	// Waking everybody for each release would be around workers/2 per acquisition.
	if calls > workers*rounds*16 {
		t.Errorf("%d scripts for %d acquisitions", calls, workers*rounds)
	}
}

var evalshaCalls = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

func (s *server) scriptCalls() int {
	s.t.Helper()
	m := evalshaCalls.FindStringSubmatch(s.rdb.Info(context.Background(), "commandstats").Val())
	if m == nil {
		s.t.Fatal("no evalsha in commandstats")
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func TestBackoffIsJitteredAndCapped(t *testing.T) {
	for n, bound := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000} {
		bound *= time.Millisecond
		high := time.Duration(0)
		for range 500 {
			d := backoff(n)
			if d < backoffBase || d > bound {
				t.Fatalf("try %d: %v is not between %v and %v", n, d, backoffBase, bound)
			}
			high = max(high, d)
		}
		if high < bound*8/10 {
			t.Errorf("try %d: never above %v of %v", n, high, bound)
		}
	}
	if backoff(1<<40) > backoffCap {
		t.Error("overflow")
	}
}

func TestBackoffEndsWithTheHoldersKey(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct{ delay, left, want time.Duration }{
		{800 * ms, 30 * ms, 31 * ms}, {800 * ms, 1 * ms, 10 * ms}, {20 * ms, 900 * ms, 20 * ms},
		{800 * ms, 0, 800 * ms}, {800 * ms, -1 * ms, 800 * ms},
	} {
		if got := untilExpiry(tc.delay, tc.left); got != tc.want {
			t.Errorf("back-off %v, key expires in %v: %v, want %v", tc.delay, tc.left, got, tc.want)
		}
	}
}

// However many wait, a renewal finds a connection, even in a pool of two.
func TestRenewalsDoNotQueueBehindWaiters(t *testing.T) {
	s := startRedis(t)
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.rdb.Options().Addr, PoolSize: 2})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := New(rdb, WithTTL(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if got := cap(c.slots); got != 1 {
		t.Errorf("%d slots of a pool of 2", got)
	}
	l := mustLock(t, c, "/r")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { _, _ = c.Lock(ctx, "/r") })
	}
	first := l.Deadline()
	eventually(t, 5*time.Second, "three TTLs", func() bool { return l.Err() != nil || l.Deadline().Sub(first) > 900*time.Millisecond })
	cancel()
	wg.Wait()
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
