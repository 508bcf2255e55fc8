package lockclient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// eventually polls for what no event tells, at most for d.
func eventually(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, d)
		}
	}
}

func TestRenewalKeepsTheLease(t *testing.T) {
	s := startRedis(t)
	const ttl = 300 * time.Millisecond
	l := mustLock(t, s.client(), "/r", WithTTL(ttl))
	first := l.Deadline()
	eventually(t, 5*time.Second, "renewed beyond two TTLs", func() bool {
		if err := l.Err(); err != nil {
			t.Fatal(err)
		}
		return l.Deadline().Sub(first) > 2*ttl
	})
	if got := s.get("{fencegate}:lock:/r"); got != l.Token().String()+":"+string(l.Stamp().Owner) {
		t.Errorf("key holds %q", got)
	}
}

// A frozen Redis answers nothing: the lease must end by the local clock.
func TestLeaseEndsByItsDeadlineWhenRedisIsFrozen(t *testing.T) {
	s := startRedis(t)
	const ttl = 600 * time.Millisecond
	c := s.client()
	asked := time.Now()
	l := mustLock(t, c, "/r", WithTTL(ttl))
	s.freeze()
	deadline := l.Deadline()
	within(t, 2*ttl, l.Context().Done(), "context ends")
	late := time.Since(deadline)
	if late > 50*time.Millisecond || late < -5*time.Millisecond {
		t.Errorf("noticed %v after the deadline", late)
	}
	t.Logf("noticed %v after the local deadline, %v after asking (TTL %v)", late, time.Since(asked), ttl)
	var lost *LostError
	if err := context.Cause(l.Context()); !errors.As(err, &lost) || lost.Reason != Unreachable || lost.Err == nil {
		t.Errorf("cause %v", err)
	}
	if lost.Token != l.Token() || lost.Resource != l.Resource() {
		t.Errorf("%+v", lost)
	}
	select {
	case <-l.Lost():
	default:
		t.Error("Lost is still open")
	}
}

// The lease counts from the first send, the earliest moment at which Redis can
// have started the TTL: time that passes until the answer, through a second
// send too (EVAL, as the new server does not know the script), is taken off.
func TestTheLeaseCountsFromTheFirstSend(t *testing.T) {
	const ttl, answered = time.Minute, 10 * time.Second // too early for a renewal
	for name, tc := range map[string]struct {
		script *redis.Script
		call   func(t *testing.T, c *Client, f *fakeFence) *Lock
	}{
		"acquire": {acquireScript, func(t *testing.T, c *Client, _ *fakeFence) *Lock {
			return mustLock(t, c, "/r")
		}},
		"renew": {renewScript, func(t *testing.T, c *Client, _ *fakeFence) *Lock {
			l := mustLock(t, c, "/r")
			if err := l.renew(); err != nil {
				t.Fatal(err)
			}
			return l
		}},
		"remint": {remintScript, func(t *testing.T, c *Client, f *fakeFence) *Lock {
			f.raise("/r", fence.Token(time.Now().Add(time.Hour).UnixMicro()), "another")
			return mustLock(t, c, "/r")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, f, clock := startRedis(t), startFence(t), &fakeClock{}
			c := s.client(WithFence(f.URL), WithTTL(ttl))
			c.clock = clock
			s.onWrite(func(b []byte) { // what is sent by its hash is sent first
				if strings.Contains(string(b), tc.script.Hash()) {
					clock.advance(answered, answered, answered)
				}
			})
			l := tc.call(t, c, f)
			if left, most := l.Remaining(), newLease(instant{}, ttl).valid-answered; left > most || left < most-answered/2 {
				t.Errorf("%v remain of a TTL of %v that was answered after %v", left, ttl, answered)
			}
		})
	}
}

func TestAFailedRenewalDoesNotEndTheLease(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r", WithTTL(2*time.Second))
	first := l.Deadline()
	s.freeze()
	eventually(t, 5*time.Second, "a renewal fails", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.renewErr != nil
	})
	if err := l.Err(); err != nil {
		t.Fatalf("one failure ended the lease: %v", err)
	}
	s.thaw()
	eventually(t, 5*time.Second, "renewed", func() bool { return l.Deadline().After(first) })
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRenewalFindsThatTheLockIsGone(t *testing.T) {
	const key = "{fencegate}:lock:/r"
	for name, tc := range map[string]struct {
		change func(*server)
		want   LostReason
	}{
		"flushed":       {func(s *server) { s.flush() }, Expired},
		"another owner": {func(s *server) { s.rdb.Set(context.Background(), key, "99:another", time.Minute) }, Stolen},
		"no lock value": {func(s *server) { s.rdb.Set(context.Background(), key, "scribble", time.Minute) }, Stolen},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			l := mustLock(t, s.client(), "/r", WithTTL(3*time.Second))
			tc.change(s)
			within(t, 15*time.Second, l.Lost(), "lost")
			var lost *LostError
			if !errors.As(l.Err(), &lost) || lost.Reason != tc.want {
				t.Errorf("got %v, want %s", l.Err(), tc.want)
			}
			if tc.want == Expired && !errors.Is(lost, errKeyGone) {
				t.Errorf("only the deadline ended it: %v", lost)
			}
		})
	}
}

// A renewal with the owner of before, sent while the lock is re-minted, would
// find another owner and give the lock up.
func TestARenewalWaitsForARemint(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r")
	l.turns() <- struct{}{} // as remint does
	s.rdb.Set(t.Context(), "{fencegate}:lock:/r", l.Token().String()+":new", time.Minute)
	done := make(chan error, 1)
	go func() { done <- l.renew() }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // nothing tells that it waits
	}
	l.mu.Lock()
	l.stamp.Owner = "new"
	l.mu.Unlock()
	<-l.turns()
	if err := within(t, 5*time.Second, done, "renewal"); err != nil {
		t.Error(err)
	}
}

func TestRenewAfterStaysNearAThird(t *testing.T) {
	const ttl = 15 * time.Second
	low, high := ttl, time.Duration(0)
	for range 2000 {
		d := renewAfter(ttl)
		low, high = min(low, d), max(high, d)
	}
	if low < 4500*time.Millisecond || high > 5500*time.Millisecond || high-low < 800*time.Millisecond {
		t.Errorf("between %v and %v, want 5s ± 10%%", low, high)
	}
}

// An acquire that was sent but not answered may have taken the lock.
func TestAnAmbiguousAcquireIsUndone(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	mustLock(t, c, "/warm") // the connection and the script are there
	s.freeze()
	begin := time.Now()
	_, err := c.TryLock(t.Context(), "/r", WithTTL(2*time.Second))
	if !errors.Is(err, ErrRedisUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(begin); d > 1500*time.Millisecond {
		t.Errorf("took %v", d)
	}
	s.thaw()
	c.work.wait()
	if got := s.get("{fencegate}:lock:/r"); got != "" {
		t.Errorf("the abandoned acquire left %q", got)
	}
	if s.get("{fencegate}:token") == "" {
		t.Error("the abandoned acquire never ran, this test showed nothing")
	}
	mustLock(t, c, "/r")
}

func TestAcquireGivesUpWithItsContext(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	s.freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := c.Lock(ctx, "/r")
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNotAcquired) {
		t.Error(err)
	}
	if d := time.Since(begin); d > time.Second {
		t.Errorf("took %v", d)
	}
}
