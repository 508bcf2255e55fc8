package lockclient

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// sentinels are all errors that a caller may compare with.
var sentinels = map[string]error{
	"ErrNotAcquired": ErrNotAcquired, "ErrRedisUnreachable": ErrRedisUnreachable, "ErrFenceUnreachable": ErrFenceUnreachable,
	"ErrTokenExhausted": ErrTokenExhausted, "ErrCounter": ErrCounter, "ErrClosed": ErrClosed, "ErrNoQuorum": ErrNoQuorum,
	"ErrRedisVersion": ErrRedisVersion, "ErrSameNode": ErrSameNode, "ErrNotHeld": ErrNotHeld, "ErrReleased": ErrReleased,
	"ErrLeaseExpired": ErrLeaseExpired, "ErrTakenOver": ErrTakenOver, "ErrLost": ErrLost, "ErrMaxHold": ErrMaxHold,
	"Canceled": context.Canceled, "DeadlineExceeded": context.DeadlineExceeded,
}

// kinds are the error types with facts.
func kinds(err error) (got []string) {
	for name, is := range map[string]bool{
		"HeldError": errors.As(err, new(*HeldError)), "QuorumError": errors.As(err, new(*QuorumError)), "LostError": errors.As(err, new(*LostError)),
		"FencedError": errors.As(err, new(*FencedError)), "OutcomeUnknownError": errors.As(err, new(*OutcomeUnknownError)),
		"ClaimError": errors.As(err, new(*ClaimError)), "TokenGapError": errors.As(err, new(*TokenGapError)),
		"ScopeError": errors.As(err, new(*ScopeError)), "PathError": errors.As(err, new(*fence.PathError)),
	} {
		if is {
			got = append(got, name)
		}
	}
	for name, s := range sentinels {
		if errors.Is(err, s) {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	return got
}

// Every outcome has an error of its own, and matches nothing else.
func TestEveryOutcomeHasItsError(t *testing.T) {
	answer := func(status int, reason string) roundTripper {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{headerReason: {reason}}, Body: http.NoBody}, nil
		}
	}
	through := func(l *Lock, f *fakeFence, rt roundTripper) error { return put(l.Transport(rt), f.URL+"/r") }
	for name, tc := range map[string]struct {
		want string
		make func(t *testing.T, s *server, f *fakeFence) error
	}{
		"held": {"ErrNotAcquired HeldError", func(t *testing.T, s *server, _ *fakeFence) error {
			mustLock(t, s.client(), "/r")
			_, err := s.client().TryLock(t.Context(), "/r")
			return err
		}},
		"waited in vain": {"ErrNotAcquired HeldError", func(t *testing.T, s *server, _ *fakeFence) error {
			mustLock(t, s.client(), "/r")
			_, err := s.client().Lock(t.Context(), "/r", WithMaxWait(20*time.Millisecond))
			return err
		}},
		"the caller's deadline": {"DeadlineExceeded ErrNotAcquired HeldError", func(t *testing.T, s *server, _ *fakeFence) error {
			mustLock(t, s.client(), "/r")
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := s.client().Lock(ctx, "/r")
			if !errors.Is(err, ctx.Err()) {
				t.Errorf("%v does not match %v", err, ctx.Err())
			}
			return err
		}},
		"the caller gave up": {"Canceled ErrNotAcquired", func(t *testing.T, s *server, _ *fakeFence) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := s.client().Lock(ctx, "/r")
			return err
		}},
		"no such name": {"PathError", func(t *testing.T, s *server, _ *fakeFence) error {
			_, err := s.client().TryLock(t.Context(), "/a//b")
			return err
		}},
		"closed": {"ErrClosed", func(t *testing.T, s *server, _ *fakeFence) error {
			c := s.client()
			_ = c.Close()
			_, err := c.TryLock(t.Context(), "/r")
			return err
		}},
		"frozen": {"ErrRedisUnreachable", func(t *testing.T, s *server, _ *fakeFence) error {
			c := s.client(WithTTL(400 * time.Millisecond))
			s.freeze()
			_, err := c.TryLock(t.Context(), "/r")
			s.thaw()
			return err
		}},
		"old": {"ErrRedisVersion", func(t *testing.T, s *server, _ *fakeFence) error {
			s.rdb.AddHook(&infoCount{version: "3.2.1"})
			_, err := s.client().TryLock(t.Context(), "/r")
			return err
		}},
		"counter": {"ErrCounter", func(t *testing.T, s *server, _ *fakeFence) error {
			s.set("{fencegate}:token", "many")
			_, err := s.client().TryLock(t.Context(), "/r")
			return err
		}},
		"no tokens left": {"ErrTokenExhausted", func(t *testing.T, s *server, _ *fakeFence) error {
			s.set("{fencegate}:token", fmt.Sprint(maxExact))
			_, err := s.client().TryLock(t.Context(), "/r")
			return err
		}},
		"no fence": {"ErrFenceUnreachable", func(t *testing.T, s *server, f *fakeFence) error {
			f.Close()
			_, err := s.client(WithFence(f.URL)).TryLock(t.Context(), "/r")
			return err
		}},
		"claim refused": {"ClaimError", func(t *testing.T, s *server, f *fakeFence) error {
			f.claim = func(w http.ResponseWriter, _ *http.Request) { refuseWith(w, 401, "unauthenticated", 0, "") }
			_, err := s.client(WithFence(f.URL)).TryLock(t.Context(), "/r")
			return err
		}},
		"gap": {"TokenGapError", func(t *testing.T, s *server, f *fakeFence) error {
			f.raise("/r", fence.Token(time.Now().Add(14*24*time.Hour).UnixMicro()), "another")
			_, err := s.client(WithFence(f.URL)).TryLock(t.Context(), "/r")
			return err
		}},
		"fenced by all claims": {"FencedError", func(t *testing.T, s *server, f *fakeFence) error {
			f.claim = func(w http.ResponseWriter, r *http.Request) {
				token, _ := fence.ParseToken(f.decode(t, r).Token, fence.MaxToken)
				refuseWith(w, http.StatusPreconditionFailed, reasonStale, token+5, "")
			}
			_, err := s.client(WithFence(f.URL)).TryLock(t.Context(), "/r")
			return err
		}},
		"released": {"ErrNotHeld ErrReleased", func(t *testing.T, s *server, _ *fakeFence) error {
			l := mustLock(t, s.client(), "/r")
			_ = l.Unlock(t.Context())
			return l.Unlock(t.Context())
		}},
		"released, asked later": {"ErrNotHeld ErrReleased", func(t *testing.T, s *server, _ *fakeFence) error {
			l := mustLock(t, s.client(), "/r")
			_ = l.Unlock(t.Context())
			return l.Err()
		}},
		"expired": {"ErrLeaseExpired ErrNotHeld", func(t *testing.T, s *server, _ *fakeFence) error {
			l := mustLock(t, s.client(), "/r")
			s.flush()
			return l.Unlock(t.Context())
		}},
		"taken over": {"ErrNotHeld ErrTakenOver", func(t *testing.T, s *server, _ *fakeFence) error {
			l := mustLock(t, s.client(), "/r")
			s.rdb.Set(t.Context(), keyR, "99:another", time.Minute)
			return l.Unlock(t.Context())
		}},
		"lost: expired": {"ErrLost LostError", func(t *testing.T, s *server, _ *fakeFence) error {
			c := s.client()
			clock := &fakeClock{}
			c.clock = clock
			l := mustLock(t, c, "/r")
			clock.advance(time.Minute, 0, 0)
			return reasonIs(t, l.Err(), Expired)
		}},
		"lost: held too long": {"ErrLost ErrMaxHold LostError", func(t *testing.T, s *server, _ *fakeFence) error {
			l := mustLock(t, s.client(), "/r", WithMaxHold(100*time.Millisecond))
			<-l.Lost()
			return reasonIs(t, l.Err(), Expired)
		}},
		"lost: stolen": {"ErrLost LostError", func(t *testing.T, s *server, _ *fakeFence) error {
			l := mustLock(t, s.client(), "/r")
			s.rdb.Set(t.Context(), keyR, "99:another", time.Minute)
			return reasonIs(t, l.renew(), Stolen)
		}},
		"lost: unreachable": {"ErrLost ErrRedisUnreachable LostError", func(t *testing.T, s *server, _ *fakeFence) error {
			l := mustLock(t, s.client(), "/r", WithTTL(400*time.Millisecond))
			s.freeze()
			<-l.Lost()
			s.thaw()
			return reasonIs(t, l.Err(), Unreachable)
		}},
		"lost: fenced": {"ErrLost LostError", func(t *testing.T, s *server, f *fakeFence) error {
			l := mustLock(t, s.client(WithFence(f.URL)), "/r")
			_ = through(l, f, answer(412, reasonStale))
			return reasonIs(t, l.Err(), Fenced)
		}},
		"a write that was fenced": {"FencedError", func(t *testing.T, s *server, f *fakeFence) error {
			return through(mustLock(t, s.client(WithFence(f.URL)), "/r"), f, answer(412, reasonStale))
		}},
		"a write of unknown outcome": {"OutcomeUnknownError", func(t *testing.T, s *server, f *fakeFence) error {
			return through(mustLock(t, s.client(WithFence(f.URL)), "/r"), f, answer(504, reasonUnknown))
		}},
		"a write outside": {"ScopeError", func(t *testing.T, s *server, f *fakeFence) error {
			l := mustLock(t, s.client(WithFence(f.URL)), "/r")
			return put(l.Transport(nil), f.URL+"/other")
		}},
		"no quorum": {"ErrNoQuorum ErrRedisUnreachable QuorumError", func(t *testing.T, s *server, _ *fakeFence) error {
			_, err := withDeadNodes(t, s, 2).TryLock(t.Context(), "/r", WithTTL(time.Second))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := startRedis(t), startFence(t)
			err := tc.make(t, s, f)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.Join(kinds(err), " "); got != tc.want {
				t.Errorf("it matches %s; want %s: %v", got, tc.want, err)
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "%!") {
				t.Errorf("the message: %q", err)
			}
		})
	}
}

func reasonIs(t *testing.T, err error, want LostReason) error {
	t.Helper()
	var lost *LostError
	if !errors.As(err, &lost) || lost.Reason != want {
		t.Errorf("got %v, want %s", err, want)
	}
	return err
}

// withDeadNodes returns a client of s and n nodes that nobody listens for.
func withDeadNodes(t *testing.T, s *server, n int) *Client {
	t.Helper()
	rdbs := []redis.UniversalClient{s.rdb}
	for range n {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + freePort(t), DialerRetries: 1})
		t.Cleanup(func() { _ = rdb.Close() })
		rdbs = append(rdbs, rdb)
	}
	c, err := NewRedlock(rdbs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A Redis that is gone, not only silent, is told in time too.
func TestRedisIsDown(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + freePort(t)})
	defer func() { _ = rdb.Close() }()
	c, err := New(rdb, WithTTL(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	begin := time.Now()
	if _, err := c.TryLock(t.Context(), "/r"); !errors.Is(err, ErrRedisUnreachable) {
		t.Error(err)
	}
	if d := time.Since(begin); d > 5*callTimeout(time.Second) {
		t.Errorf("it took %v", d)
	}
	begin = time.Now()
	if _, err := c.Lock(t.Context(), "/r", WithMaxWait(300*time.Millisecond)); !errors.Is(err, ErrRedisUnreachable) {
		t.Error(err)
	}
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("it took %v", d)
	}
}

func TestShortAndEndlessLeasesAreRefused(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	for _, ttl := range []time.Duration{99 * time.Millisecond, 0, -time.Second, math.MinInt64, math.MaxInt64} {
		if _, err := c.TryLock(t.Context(), "/r", WithTTL(ttl)); err == nil || !strings.Contains(err.Error(), "ttl") {
			t.Errorf("%v: %v", ttl, err)
		}
	}
	for _, hold := range []time.Duration{time.Millisecond, -1} {
		if _, err := c.TryLock(t.Context(), "/r", WithMaxHold(hold)); err == nil || !strings.Contains(err.Error(), "max hold") {
			t.Errorf("%v: %v", hold, err)
		}
	}
	if keys := s.rdb.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}
