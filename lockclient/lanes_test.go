package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// gate holds calls to Redis up until it is opened, and tells how many came, alone
// or together.
type gate struct {
	mu     sync.Mutex
	open   chan struct{}
	alone  int
	pipes  []int
	before func() // a pipeline is sent
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			g.mu.Lock()
			g.alone++
			open := g.open
			g.mu.Unlock()
			<-open
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "evalsha" {
			g.mu.Lock()
			g.pipes = append(g.pipes, len(cmds))
			before := g.before
			g.mu.Unlock()
			if before != nil {
				before()
			}
		}
		return next(ctx, cmds)
	}
}

func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.alone
}

// gated returns a client that may have two calls under way, all of which g holds
// up, and the lanes of it.
func (s *server) gated(g *gate, opts ...Option) (*Client, *lanes) {
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.rdb.Options().Addr, PoolSize: 4, ContextTimeoutEnabled: true})
	s.t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(g)
	c, err := New(rdb, opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	c.checks.passed.Store(true)
	return c, c.nodes.(*single).lanes
}

func (l *lanes) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}

// What waits while others are under way is sent in one pipeline, also to a Redis
// that has forgotten the scripts, and each caller is told its own answer.
func TestCallsThatWaitAreSentTogether(t *testing.T) {
	for _, forget := range []bool{false, true} {
		s, g := startRedis(t), &gate{open: make(chan struct{})}
		c, l := s.gated(g)
		if forget {
			g.before = func() { s.rdb.ScriptFlush(t.Context()) }
		}
		const n = 20
		type result struct {
			path string
			l    *Lock
			err  error
		}
		got := make(chan result, n+manyLanes)
		take := func(ctx context.Context, path string) {
			l, err := c.TryLock(ctx, path)
			got <- result{path, l, err}
		}
		for i := range manyLanes {
			go take(context.Background(), fmt.Sprint("/first/", i))
		}
		eventually(t, 10*time.Second, "all lanes are busy", func() bool { return g.waiting() == manyLanes })
		s.set("{fencegate}:lock:/r/7", "5:another")
		s.rdb.PExpire(t.Context(), "{fencegate}:lock:/r/7", time.Minute)
		for i := range n {
			ctx := context.Background()
			if i%2 == 0 {
				ctx = t.Context() // which may be cancelled
			}
			go take(ctx, fmt.Sprint("/r/", i))
		}
		eventually(t, 10*time.Second, "all others wait", func() bool { return l.waiting() == n })
		close(g.open)
		seen := map[fence.Token]bool{}
		for range n + manyLanes {
			r := within(t, 10*time.Second, got, "an answer")
			if r.path == "/r/7" {
				if !errors.Is(r.err, ErrNotAcquired) {
					t.Errorf("another's: %v, %v", r.l, r.err)
				}
				continue
			}
			if r.err != nil {
				t.Fatalf("%s: %v", r.path, r.err)
			}
			if key := s.get("{fencegate}:lock:" + r.path); key != r.l.Token().String()+":"+string(r.l.Stamp().Owner) || seen[r.l.Token()] {
				t.Errorf("%s: token %s, the key holds %q", r.path, r.l.Token(), key)
			}
			seen[r.l.Token()] = true
			if err := r.l.Unlock(context.Background()); err != nil {
				t.Errorf("%s: %v", r.path, err)
			}
		}
		if len(g.pipes) == 0 || g.pipes[0] != n {
			t.Errorf("sent together: %v, want %d first", g.pipes, n)
		}
		eventually(t, 10*time.Second, "no lane is busy", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.busy == 0 && len(l.queue) == 0
		})
	}
}

// A call whose time is over while it waits is never sent, whether or not it was
// to send the others', which are sent all the same.
func TestACallThatGivesUpIsNotSent(t *testing.T) {
	s, g := startRedis(t), &gate{open: make(chan struct{})}
	_, l := s.gated(g)
	request := func(name string) request {
		r, err := fence.Canonical(name, fence.NameOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return request{keys: keyspace{"{fencegate}:"}.of([]fence.Resource{r}), owner: newOwner(), ttl: time.Minute}
	}
	do := func(ctx context.Context, name string) <-chan answer {
		out := make(chan answer, 1)
		go func() { out <- l.do(ctx, time.Minute, request(name).acquire()) }()
		return out
	}
	var first []<-chan answer
	for i := range manyLanes {
		first = append(first, do(t.Context(), fmt.Sprint("/first/", i)))
	}
	eventually(t, 10*time.Second, "all lanes are busy", func() bool { return g.waiting() == manyLanes })
	ctx, cancel := context.WithCancel(t.Context())
	gone := do(ctx, "/gone")
	eventually(t, 10*time.Second, "it waits", func() bool { return l.waiting() == 1 })
	kept := do(t.Context(), "/kept")
	eventually(t, 10*time.Second, "both wait", func() bool { return l.waiting() == 2 })
	cancel()
	if a := within(t, 10*time.Second, gone, "given up"); !a.unsent || !errors.Is(a.err, ErrRedisUnreachable) {
		t.Errorf("got %+v", a)
	}
	// One that was told to send the others' when its time was over.
	l.mu.Lock()
	late := &queued{invocation: request("/late").acquire(), told: make(chan struct{}, 1), timeout: time.Minute}
	l.queue = append([]*queued{late}, l.queue...)
	l.mu.Unlock()
	l.next() // as a lane that is free; it counts as busy until that batch is sent
	within(t, time.Second, late.told, "it is to send")
	if !l.quit(late) {
		t.Error("it counts as sent")
	}
	close(g.open)
	if a := within(t, 10*time.Second, kept, "the other's answer"); a.status != statusOK {
		t.Errorf("got %+v", a)
	}
	for _, f := range first {
		if a := within(t, 10*time.Second, f, "the first"); a.status != statusOK {
			t.Errorf("got %+v", a)
		}
	}
	for _, name := range []string{"/gone", "/late"} {
		if got := s.get("{fencegate}:lock:" + name); got != "" {
			t.Errorf("%s was sent: %q", name, got)
		}
	}
	s.flush()
}

// A frozen Redis holds nobody up, whether or not its client is told to heed
// contexts: neither those under way nor those that wait for them.
func TestAFrozenRedisHoldsNobodyUp(t *testing.T) {
	for _, heeds := range []bool{false, true} {
		s := startRedis(t)
		rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.rdb.Options().Addr, ContextTimeoutEnabled: heeds})
		t.Cleanup(func() { _ = rdb.Close() })
		c, err := New(rdb, WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		held := mustLock(t, c, "/held", WithTTL(time.Minute))
		s.freeze()
		begin := time.Now()
		const n = 40
		out := make(chan error, n+1)
		for i := range n {
			go func() {
				_, err := c.TryLock(context.Background(), fmt.Sprint("/r/", i))
				out <- err
			}()
		}
		go func() { out <- held.Unlock(context.Background()) }()
		for range n + 1 {
			err := within(t, 20*time.Second, out, "given up")
			if !errors.Is(err, ErrRedisUnreachable) || !strings.Contains(err.Error(), "within") {
				t.Errorf("got %v", err)
			}
		}
		if d := time.Since(begin); d > 5*releaseWait {
			t.Errorf("it took %v", d)
		}
		s.thaw()
		_ = c.Close()
	}
}
