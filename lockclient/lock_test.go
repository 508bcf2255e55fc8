package lockclient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLockAndUnlock(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	l, err := c.Lock(t.Context(), "/reports/q3%20final.csv")
	if err != nil {
		t.Fatal(err)
	}
	const key = "{fencegate}:lock:/reports/q3 final.csv"
	if got, want := s.get(key), l.Token().String()+":"+string(l.Stamp().Owner); got != want {
		t.Errorf("key holds %q, want %q", got, want)
	}
	if d := s.rdb.PTTL(t.Context(), key).Val(); d <= 14*time.Second || d > 15*time.Second {
		t.Errorf("expiry in %v, want just below 15s", d)
	}
	if got := s.get("{fencegate}:token"); got != l.Token().String() {
		t.Errorf("counter %s, want %s", got, l.Token())
	}
	if us := time.Now().UnixMicro(); int64(l.Token()) < us-60e6 || int64(l.Token()) > us+60e6 {
		t.Errorf("token %s is not near the time in µs, %d", l.Token(), us)
	}
	if l.Remaining() <= 14*time.Second || l.Err() != nil || l.Context().Err() != nil {
		t.Errorf("remaining %v, err %v", l.Remaining(), l.Err())
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.get(key); got != "" {
		t.Errorf("key holds %q after Unlock", got)
	}
	if cause := context.Cause(l.Context()); !errors.Is(cause, ErrReleased) {
		t.Errorf("context ended with %v", cause)
	}
	if l.Remaining() != 0 || !errors.Is(l.Err(), ErrReleased) {
		t.Errorf("remaining %v, err %v", l.Remaining(), l.Err())
	}
	select {
	case <-l.Lost():
		t.Error("a released lock counts as lost")
	default:
	}
}

func TestTryLockOfAHeldLock(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	mustLock(t, c, "/r")
	begin := time.Now()
	_, err := c.TryLock(t.Context(), "/r")
	if !errors.Is(err, ErrNotAcquired) {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
	if _, err := c.Lock(t.Context(), "/r", WithMaxWait(0)); !errors.Is(err, ErrNotAcquired) {
		t.Error(err)
	}
	mustLock(t, c, "/other")
}

func TestUnlockTellsHowTheLockWasLost(t *testing.T) {
	ctx := context.Background()
	const key = "{fencegate}:lock:/r"
	for name, tc := range map[string]struct {
		before func(*server, *Lock)
		want   error
	}{
		"held":          {func(*server, *Lock) {}, nil},
		"twice":         {func(_ *server, l *Lock) { _ = l.Unlock(ctx) }, ErrReleased},
		"key gone":      {func(s *server, _ *Lock) { s.flush() }, ErrLeaseExpired},
		"another owner": {func(s *server, _ *Lock) { s.rdb.Set(ctx, key, "99:another", time.Minute) }, ErrTakenOver},
		"expired": {func(_ *server, l *Lock) {
			l.c.clock.(*fakeClock).advance(0, 0, time.Minute)
		}, ErrLeaseExpired},
		"fenced": {func(_ *server, l *Lock) { _ = l.lose(Fenced, nil) }, ErrTakenOver},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			c := s.client()
			c.clock = &fakeClock{}
			l := mustLock(t, c, "/r")
			tc.before(s, l)
			err := l.Unlock(ctx)
			for _, sentinel := range []error{ErrReleased, ErrLeaseExpired, ErrTakenOver} {
				if errors.Is(err, sentinel) != (sentinel == tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
			}
			if errors.Is(err, ErrNotHeld) != (tc.want != nil) {
				t.Errorf("%v matches ErrNotHeld wrongly", err)
			}
			if err != nil && strings.Contains(err.Error(), string(l.Stamp().Owner)) {
				t.Error("the error shows the owner")
			}
			if name == "another owner" && s.get(key) != "99:another" {
				t.Error("Unlock removed the other's lock")
			}
		})
	}
}

func TestUnlockWithACancelledContext(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.get("{fencegate}:lock:/r"); got != "" {
		t.Errorf("still locked: %q", got)
	}
}

func TestUnlockIsBoundedWhenRedisIsFrozen(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r")
	s.freeze()
	begin := time.Now()
	err := l.Unlock(context.Background())
	if !errors.Is(err, ErrRedisUnreachable) {
		t.Error(err)
	}
	if d := time.Since(begin); d > releaseWait+time.Second {
		t.Errorf("took %v", d)
	}
}
