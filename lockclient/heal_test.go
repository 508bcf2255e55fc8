package lockclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/fence"
)

// The fence has seen a higher token than this Redis issues.
func TestHealing(t *testing.T) {
	ahead := fence.Token(time.Now().Add(time.Hour).UnixMicro())
	for name, tc := range map[string]struct {
		reason string
		status int
		header bool
	}{
		"stale":          {reasonStale, http.StatusPreconditionFailed, true},
		"tree fenced":    {reasonTreeFenced, http.StatusConflict, true},
		"owner conflict": {reasonOwnerConflict, http.StatusConflict, true},
		"body only":      {reasonStale, http.StatusPreconditionFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := startRedis(t), startFence(t)
			f.claim = func(w http.ResponseWriter, r *http.Request) {
				if f.mark("/r").Token == 0 {
					f.raise("/r", ahead, "another")
					if tc.header {
						refuseWith(w, tc.status, tc.reason, ahead, "")
						return
					}
					w.Header().Set(headerReason, tc.reason)
					w.WriteHeader(tc.status)
					_, _ = fmt.Fprintf(w, `{"reason":%q,"highest":"%d"}`, tc.reason, ahead)
					return
				}
				f.judgeClaim(w, r)
			}
			l := mustLock(t, s.client(WithFence(f.URL)), "/r")
			if l.Token() != ahead+1 {
				t.Errorf("token %s, want %d", l.Token(), ahead+1)
			}
			if got, want := s.get(keyR), l.Token().String()+":"+string(l.Stamp().Owner); got != want {
				t.Errorf("redis has %q, want %q", got, want)
			}
			if m := f.mark("/r"); m.Token != l.Token() || m.Owner != l.Stamp().Owner {
				t.Errorf("the fence's mark is %s %s", m.Token, m.Owner)
			}
			if err := l.renew(); err != nil {
				t.Errorf("renew with the new owner: %v", err)
			}
			next := s.client(WithFence(f.URL))
			if err := l.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again := mustLock(t, next, "/r"); again.Token() <= l.Token() {
				t.Errorf("token %s after %s", again.Token(), l.Token())
			}
		})
	}
}

// After a failover two holders can have one number: ours gets another one.
func TestHealingMintsANewOwner(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	var first claimRequest
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		c := f.decode(t, r)
		if first.Token == "" {
			first = c
			token, _ := fence.ParseToken(c.Token, fence.MaxToken)
			refuseWith(w, http.StatusConflict, reasonOwnerConflict, token, "")
			return
		}
		if c.Owner == first.Owner || c.Token == first.Token {
			t.Error("the second claim repeats the token or the owner of the first")
		}
		confirm(w, c.Resource, "object", c.Token)
	}
	mustLock(t, s.client(WithFence(f.URL)), "/r")
}

func TestHealingIsBounded(t *testing.T) {
	t.Run("rounds", func(t *testing.T) {
		s, f := startRedis(t), startFence(t)
		var claims atomic.Int32
		f.claim = func(w http.ResponseWriter, r *http.Request) {
			claims.Add(1)
			token, _ := fence.ParseToken(f.decode(t, r).Token, fence.MaxToken)
			refuseWith(w, http.StatusPreconditionFailed, reasonStale, token+5, "")
		}
		c := s.client(WithFence(f.URL))
		_, err := c.TryLock(t.Context(), "/r")
		var fenced *FencedError
		if !errors.As(err, &fenced) || fenced.Reason != reasonStale || fenced.Highest == 0 || fenced.RequestID != "req-7" {
			t.Errorf("got %v", err)
		}
		if n := claims.Load(); n != healRounds+1 {
			t.Errorf("%d claims", n)
		}
		s.mustBeFree(c)
	})
	t.Run("gap", func(t *testing.T) {
		s, f := startRedis(t), startFence(t)
		f.raise("/r", fence.Token(time.Now().Add(14*24*time.Hour).UnixMicro()), "another")
		c := s.client(WithFence(f.URL))
		_, err := c.TryLock(t.Context(), "/r")
		var gap *TokenGapError
		if !errors.As(err, &gap) || gap.Highest != f.mark("/r").Token || gap.Limit == 0 ||
			!strings.Contains(err.Error(), "SET {fencegate}:token") {
			t.Errorf("got %v", err)
		}
		s.mustBeFree(c)
	})
	t.Run("exhausted", func(t *testing.T) {
		s, f := startRedis(t), startFence(t)
		f.raise("/r", fence.DefaultMaxToken, "another")
		c := s.client(WithFence(f.URL))
		_, err := c.TryLock(t.Context(), "/r")
		if !errors.Is(err, ErrTokenExhausted) || !strings.Contains(err.Error(), "the fence's highest token for /r") {
			t.Errorf("got %v", err)
		}
		s.mustBeFree(c)
	})
	t.Run("counter exhausted", func(t *testing.T) {
		s, f := startRedis(t), startFence(t)
		f.claim = func(w http.ResponseWriter, r *http.Request) {
			s.set("{fencegate}:token", fence.DefaultMaxToken.String())
			token, _ := fence.ParseToken(f.decode(t, r).Token, fence.MaxToken)
			refuseWith(w, http.StatusPreconditionFailed, reasonStale, token+5, "")
		}
		c := s.client(WithFence(f.URL))
		_, err := c.TryLock(t.Context(), "/r")
		if !errors.Is(err, ErrTokenExhausted) || !strings.Contains(err.Error(), "{fencegate}:token is at") {
			t.Errorf("got %v", err)
		}
		s.mustBeFree(c)
	})
}

// Redis freezes while the re-mint is on its way: when it wakes up and carries
// it out, nobody is there, and nothing may be left of either owner.
func TestARemintWithoutAnswerLeavesNothing(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	ahead := fence.Token(time.Now().Add(time.Hour).UnixMicro())
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		s.freeze()
		refuseWith(w, http.StatusPreconditionFailed, reasonStale, ahead, "")
	}
	c := s.client(WithFence(f.URL))
	if err := remintScript.Load(t.Context(), s.rdb).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.onWrite(func(b []byte) {
		if strings.Contains(string(b), remintScript.Hash()) {
			cancel()
		}
	})
	_, err := c.TryLock(ctx, "/r", WithTTL(time.Minute))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.thaw()
	s.mustBeFree(c)
	if got := s.get("{fencegate}:token"); got != (ahead + 1).String() {
		t.Errorf("the counter is %s: the re-mint did not run, this test showed nothing", got)
	}
}
