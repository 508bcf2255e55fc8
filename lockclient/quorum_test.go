package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// While a minority is not there, locks are taken, renewed, waited for and
// released, and tokens rise without help from the nodes' clocks.
func TestAMinorityMayFail(t *testing.T) {
	// A busy machine may stop a test for a second; a lease must outlast that.
	const ttl = 2 * time.Second
	for _, n := range []int{3, 5} {
		for name, fail := range map[string]func(*group, int){
			"dead":   func(g *group, i int) { g.nodes[i].kill() },
			"frozen": func(g *group, i int) { g.nodes[i].freeze() },
			"slow":   func(g *group, i int) { g.nodes[i].relay.delay.Store(int64(20 * time.Millisecond)) },
			"silent": func(g *group, i int) { g.nodes[i].relay.delay.Store(int64(time.Second)) },
			"empty": func(g *group, i int) {
				g.nodes[i].kill()
				time.Sleep(2 * ttl) // the longest TTL, as the rule wants
				g.rejoin(i)
			},
		} {
			t.Run(fmt.Sprintf("%d nodes, %s", n, name), func(t *testing.T) {
				t.Parallel()
				g := startGroup(t, n)
				c := g.client(WithPlainCounter(), WithTTL(ttl))
				other := g.client(WithPlainCounter(), WithTTL(ttl))
				last := fence.NoToken
				cycle := func() {
					t.Helper()
					l, err := c.Lock(t.Context(), "/r")
					if err != nil {
						t.Fatal(err)
					}
					if l.Token() <= last {
						t.Errorf("token %s after %s", l.Token(), last)
					}
					last = l.Token()
					if second, err := other.TryLock(t.Context(), "/r"); err == nil && l.Err() == nil {
						t.Errorf("a second holder: %v", second)
					}
					waiting := lockLater(other, t.Context())
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
					if err := within(t, 30*time.Second, waiting, "the waiter"); err != nil {
						t.Error(err)
					}
				}
				cycle()
				held := g.takeAll(c, "/held", WithTTL(2*ttl))
				first := held.Deadline()
				for i := range (n - 1) / 2 {
					fail(g, i)
				}
				for range 5 {
					cycle()
				}
				eventually(t, 30*time.Second, "renewed beyond its TTL", func() bool {
					return held.Err() != nil || held.Deadline().Sub(first) > 5*ttl/2
				})
				if err := held.Err(); err != nil {
					t.Fatalf("what was held before is lost: %v", err)
				}
				if err := held.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestAMajorityThatFailsIsAnErrorInTime(t *testing.T) {
	for name, fail := range map[string]func(*peer){
		"dead": func(p *peer) { p.kill() }, "frozen": func(p *peer) { p.freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			g := startGroup(t, 3)
			c := g.client(WithTTL(time.Second))
			l := take(t, c, "/held")
			fail(g.nodes[0])
			fail(g.nodes[2])
			begin := time.Now()
			_, err := c.TryLock(t.Context(), "/r")
			if d := time.Since(begin); d > 10*nodeTimeout(time.Second) {
				t.Errorf("it took %v", d)
			}
			if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, ErrRedisUnreachable) || errors.Is(err, ErrNotAcquired) {
				t.Errorf("got %v", err)
			}
			var nodes *multierror.Error
			if !errors.As(err, &nodes) || len(nodes.Errors) != 2 {
				t.Fatalf("got %v", err)
			}
			for _, i := range []int{0, 2} {
				if want := fmt.Sprintf("node %d (%s): ", i, g.nodes[i].relay.addr()); !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the message: %v", err)
			}
			begin = time.Now()
			_, err = c.Lock(t.Context(), "/r", WithMaxWait(300*time.Millisecond))
			if d := time.Since(begin); !errors.Is(err, ErrRedisUnreachable) || d < 250*time.Millisecond || d > 2*time.Second {
				t.Errorf("after %v: %v", d, err)
			}
			// The held lock ends by its deadline.
			within(t, 5*time.Second, l.Lost(), "lost")
			if late := time.Since(l.Deadline()); late > 200*time.Millisecond {
				t.Errorf("noticed %v late", late)
			}
			var lost *LostError
			if !errors.As(l.Err(), &lost) || lost.Reason != Unreachable || !errors.Is(lost, ErrNoQuorum) {
				t.Errorf("lost: %v", l.Err())
			}
		})
	}
}

// One node may forget the lock, two of three may not; nor may the lock creep
// back onto a node that has lost it.
func TestALockIsLostWithItsQuorum(t *testing.T) {
	g := startGroup(t, 3)
	c := g.client(WithTTL(1500 * time.Millisecond))
	l := g.takeAll(c, "/r")
	owner := string(l.Stamp().Owner)
	g.nodes[1].admin.Del(t.Context(), keyR)
	first := l.Deadline()
	eventually(t, 5*time.Second, "renewed twice", func() bool { return l.Err() != nil || l.Deadline().Sub(first) > time.Second })
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	if n := g.holders(owner); n != 2 {
		t.Errorf("held on %d nodes after one forgot it", n)
	}
	g.nodes[2].admin.Set(t.Context(), keyR, "99:another", time.Minute)
	within(t, 5*time.Second, l.Lost(), "lost")
	var lost *LostError
	if !errors.As(l.Err(), &lost) || lost.Reason != Expired {
		t.Errorf("lost: %v", l.Err())
	}
	if err := l.Unlock(t.Context()); !errors.Is(err, ErrLeaseExpired) {
		t.Error(err)
	}
	if got := g.nodes[2].admin.Get(t.Context(), keyR).Val(); got != "99:another" {
		t.Errorf("another's key holds %q", got)
	}
}

func TestAQuorumOfAnotherOwnerIsATakeover(t *testing.T) {
	g := startGroup(t, 3)
	l := take(t, g.client(), "/r")
	for _, p := range g.nodes[1:] {
		p.admin.Set(t.Context(), keyR, "99:another", time.Minute)
	}
	if err := l.Unlock(t.Context()); !errors.Is(err, ErrTakenOver) {
		t.Error(err)
	}
	for _, p := range g.nodes[1:] {
		if d := p.admin.PTTL(t.Context(), keyR).Val(); d < 50*time.Second {
			t.Errorf("another's lease is %v now", d)
		}
	}
}

// hookFunc sees commands to one node.
type hookFunc func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error

func (h hookFunc) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h hookFunc) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h hookFunc) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h(ctx, cmd, next) }
}

// runs reports whether a command runs a script.
func runs(cmd redis.Cmder, s *redis.Script) bool {
	args := cmd.Args()
	return len(args) > 1 && args[0] == "evalsha" && args[1] == s.Hash()
}

// either waits for an event that may not come before the call is over.
func either(event, over <-chan struct{}) {
	select {
	case <-event:
	case <-over:
	}
}

// inTheEnd repeats a scenario until it came about: on a busy machine a node may
// not answer within its 50 ms, and then there is nothing to see.
func inTheEnd(t *testing.T, cameAbout func() bool) {
	t.Helper()
	for range 10 {
		if cameAbout() || t.Failed() {
			return
		}
	}
	t.Error("it never came about: this test showed nothing")
}

func loadScripts(t *testing.T, g *group) {
	for _, p := range g.nodes {
		for _, s := range []*redis.Script{acquireScript, writebackScript, releaseScript} {
			if err := s.Load(t.Context(), p.admin).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Between the grants and the write-back a node gives the lock to another. What
// was granted there counts no more: the other's token may be the same.
func TestAGrantThatWasTakenAwayDoesNotCount(t *testing.T) {
	inTheEnd(t, func() bool {
		g := startGroup(t, 3)
		loadScripts(t, g)
		if got := g.nodes[2].acquire("third"); got != "ok 1" {
			t.Fatal(got)
		}
		var taken atomic.Bool
		c := g.hooked(func(node int) redis.Hook {
			return hookFunc(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				if node == 1 && runs(cmd, writebackScript) {
					g.nodes[1].admin.Del(ctx, keyR)
					taken.Store(strings.HasPrefix(g.nodes[1].acquire("another"), "ok 2"))
				}
				return next(ctx, cmd)
			})
		}, WithPlainCounter())
		l, err := c.TryLock(t.Context(), "/r")
		if !errors.Is(err, ErrNoQuorum) {
			t.Errorf("got %v, %v", l, err)
		}
		if l != nil {
			_ = l.Unlock(t.Context())
		}
		c.work.wait()
		if !taken.Load() {
			return false
		}
		if got := g.nodes[1].admin.Get(t.Context(), keyR).Val(); got != "2:another" {
			t.Errorf("another's key holds %q", got)
		}
		if got := g.nodes[0].admin.Get(t.Context(), keyR).Val(); got != "" {
			t.Errorf("%q was not given back", got)
		}
		return true
	})
}

// A third node grants the lock after the token was chosen, with a higher one.
// It must not take the place of a node that was lost meanwhile: whoever comes
// next may be given a token between the two.
func TestALateGrantDoesNotCount(t *testing.T) {
	inTheEnd(t, func() bool {
		g := startGroup(t, 3)
		loadScripts(t, g)
		g.nodes[2].admin.Set(t.Context(), "{fencegate}:token", 100, 0)
		chosen, granted := make(chan struct{}), make(chan struct{})
		var came atomic.Int32
		c := g.hooked(func(node int) redis.Hook {
			return hookFunc(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				switch {
				case node == 2 && runs(cmd, acquireScript):
					defer close(granted)
					err := next(ctx, cmd)
					if err == nil {
						came.Add(1)
					}
					either(chosen, ctx.Done())
					return err
				case node == 1 && runs(cmd, writebackScript):
					g.nodes[1].admin.Del(ctx, keyR)
					if strings.HasPrefix(g.nodes[1].acquire("another"), "ok 2") {
						came.Add(1)
					}
					close(chosen)
					either(granted, ctx.Done())
				}
				return next(ctx, cmd)
			})
		}, WithPlainCounter(), WithTTL(10*time.Second))
		l, err := c.TryLock(t.Context(), "/r")
		if !errors.Is(err, ErrNoQuorum) {
			t.Errorf("got %v, %v", l, err)
		}
		if l != nil {
			_ = l.Unlock(t.Context())
		}
		c.work.wait()
		if got := g.nodes[2].admin.Get(t.Context(), keyR).Val(); got != "" {
			t.Errorf("the late grant %q was not given back", got)
		}
		return came.Load() == 2
	})
}

// A late grant of a lock that is held by then is given back as well.
func TestALateGrantIsGivenBack(t *testing.T) {
	g := startGroup(t, 3)
	loadScripts(t, g)
	held := make(chan struct{})
	c := g.hooked(func(node int) redis.Hook {
		return hookFunc(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
			if node == 2 && runs(cmd, acquireScript) {
				either(held, t.Context().Done())
				ctx = context.WithoutCancel(ctx)
			}
			return next(ctx, cmd)
		})
	})
	l, err := c.Lock(t.Context(), "/r")
	close(held) // the third node is asked now
	if err != nil {
		t.Fatal(err)
	}
	c.work.wait()
	if n := g.holders(string(l.Stamp().Owner)); n != 2 {
		t.Errorf("held on %d nodes", n)
	}
	if got := g.nodes[2].admin.Get(t.Context(), "{fencegate}:token").Val(); got == "" {
		t.Error("the third node was not asked, this test showed nothing")
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// A node that does not answer costs no acquisition its timeout, once it is
// known; and little before.
func TestADeadNodeIsNotWaitedFor(t *testing.T) {
	g := startGroup(t, 3)
	c := g.client(WithTTL(time.Minute))
	cycle := func() {
		t.Helper()
		if err := take(t, c, "/r").Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	cycle()
	g.nodes[1].freeze()
	cycle()
	n := c.nodes.list()[1]
	if !n.slow.Load() {
		t.Error("it is not known to be slow")
	}
	begin := time.Now()
	const rounds = 40
	for range rounds {
		cycle()
	}
	// Waiting for it would take 50 ms each time.
	if d := time.Since(begin); d > rounds*50*time.Millisecond/2 {
		t.Errorf("%d rounds took %v", rounds, d)
	}
	g.nodes[1].thaw()
	eventually(t, 10*time.Second, "it is asked again", func() bool { cycle(); return !n.slow.Load() })
}

// With a fence that is ahead, a quorum mints a new token.
func TestAQuorumHeals(t *testing.T) {
	for _, dead := range []bool{false, true} {
		g, f := startGroup(t, 3), startFence(t)
		ahead := fence.Token(time.Now().Add(time.Hour).UnixMicro())
		f.raise("/r", ahead, "another")
		c := g.client(WithFence(f.URL), WithTTL(3*time.Second))
		if dead {
			g.nodes[0].kill()
		}
		l := take(t, c, "/r")
		if l.Token() != ahead+1 || f.mark("/r").Owner != l.Stamp().Owner {
			t.Errorf("token %s, mark %v", l.Token(), f.mark("/r"))
		}
		if n := g.holders(string(l.Stamp().Owner)); n < 2 {
			t.Errorf("held on %d nodes by the new owner", n)
		}
		eventually(t, 10*time.Second, "renewed", func() bool { return l.renew() == nil })
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if next := take(t, c, "/r"); next.Token() <= l.Token() {
			t.Errorf("token %s after %s", next.Token(), l.Token())
		}
	}
}

func TestRedlockTakesSeveralNamesToo(t *testing.T) {
	g := startGroup(t, 3)
	c := g.client(WithPlainCounter())
	l, err := c.LockMulti(t.Context(), []string{"/b", "/a"})
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	eventually(t, 10*time.Second, "all nodes have told who is in the way", func() bool {
		_, err := c.TryLockMulti(t.Context(), []string{"/c", "/b"})
		return errors.As(err, &held)
	})
	if held.Resource.Key() != "/b" {
		t.Errorf("got %v", held)
	}
	take(t, c, "/c")
	eventually(t, 10*time.Second, "renewed", func() bool { return l.renew() == nil })
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRedlockArguments(t *testing.T) {
	rdb := func(addr string) redis.UniversalClient {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	a, b, c := rdb("127.0.0.1:1"), rdb("127.0.0.1:2"), rdb("127.0.0.1:3")
	for name, tc := range map[string]struct {
		nodes []redis.UniversalClient
		opts  []Option
		want  string
	}{
		"three":        {[]redis.UniversalClient{a, b, c}, nil, ""},
		"none":         {nil, nil, "at least 3"},
		"two":          {[]redis.UniversalClient{a, b}, nil, "at least 3"},
		"nil":          {[]redis.UniversalClient{a, nil, b}, nil, "node 1 is nil"},
		"twice":        {[]redis.UniversalClient{a, b, a}, nil, "nodes 0 and 2 are the same"},
		"same address": {[]redis.UniversalClient{a, b, rdb("127.0.0.1:2")}, nil, "nodes 1 and 2 are the same"},
		"bad option":   {[]redis.UniversalClient{a, b, c}, []Option{WithTTL(0)}, "ttl"},
	} {
		_, err := NewRedlock(tc.nodes, tc.opts...)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNodeTimeout(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 5 * time.Millisecond, 600 * time.Millisecond: 30 * time.Millisecond,
		time.Second: 50 * time.Millisecond, time.Hour: 50 * time.Millisecond,
	} {
		if got := nodeTimeout(ttl); got != want {
			t.Errorf("TTL %v: %v, want %v", ttl, got, want)
		}
	}
}

// One node under two addresses is found when it is asked.
func TestTheSameNodeTwiceIsFound(t *testing.T) {
	g := startGroup(t, 2)
	again := startRelay(t, g.nodes[0].socket)
	var rdbs []redis.UniversalClient
	for _, addr := range []string{g.nodes[0].relay.addr(), g.nodes[1].relay.addr(), again.addr()} {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = rdb.Close() })
		rdbs = append(rdbs, rdb)
	}
	c, err := NewRedlock(rdbs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Check(t.Context()); !errors.Is(err, ErrSameNode) {
		t.Errorf("Check: %v", err)
	}
	// Before Check too, no lock is given: the same two would be a majority.
	first, err := NewRedlock(rdbs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	for range 3 {
		if l, err := first.TryLock(t.Context(), "/r"); l != nil || !errors.Is(err, ErrSameNode) {
			t.Errorf("got %v, %v", l, err)
		}
	}
}
