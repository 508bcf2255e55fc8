package lockclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const keyR = "{fencegate}:lock:/r"

// mustBeFree checks that a failed acquisition holds nothing in Redis.
func (s *server) mustBeFree(c *Client) {
	s.t.Helper()
	c.work.wait()
	if got := s.get(keyR); got != "" {
		s.t.Errorf("the lock is still held: %q", got)
	}
}

func TestClaimNamesTheLock(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	l := mustLock(t, s.client(WithFence(f.URL), WithClient("host/job")), "/a%20b/%23c", WithTree())
	want := []claimRequest{{Resource: "/a%20b/%23c", Token: l.Token().String(), Owner: string(l.Stamp().Owner), Client: "host/job", Tree: true}}
	if d := cmp.Diff(want, f.claimed()); d != "" {
		t.Error(d)
	}
	if !l.Tree() {
		t.Error("the lock does not cover a tree")
	}
}

func TestATreeRouteMakesTheLockCoverATree(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		confirm(w, "/r", "tree", f.decode(t, r).Token)
	}
	if l := mustLock(t, s.client(WithFence(f.URL)), "/r"); !l.Tree() {
		t.Error("the fence said tree")
	}
}

// Whatever else the fence says, or something in its place, nothing is held.
func TestClaimFailsClosed(t *testing.T) {
	for name, tc := range map[string]struct {
		claim http.HandlerFunc
		want  func(error) bool
	}{
		"wrong resource":  {func(w http.ResponseWriter, r *http.Request) { confirmAs(w, r, "/other", "tree") }, unreachable},
		"tree not taken":  {func(w http.ResponseWriter, r *http.Request) { confirmAs(w, r, "/r", "object") }, unreachable},
		"no resource":     {answer200(`{"resources":[],"token":"1"}`), unreachable},
		"wrong token":     {answer200(`{"resources":[{"resource":"/r","covers":"tree"}],"token":"1"}`), unreachable},
		"not JSON":        {answer200(`<html>hello</html>`), unreachable},
		"empty":           {answer200(``), unreachable},
		"no fencegate":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, unreachable},
		"another's 412":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPreconditionFailed) }, unreachable},
		"a proxy's 503":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, unreachable},
		"connection lost": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, unreachable},
		"redirected": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, unreachable},
		"unauthenticated": {func(w http.ResponseWriter, _ *http.Request) {
			refuseWith(w, http.StatusUnauthorized, "unauthenticated", 0, "")
		}, func(err error) bool {
			var c *ClaimError
			return errors.As(err, &c) && c.Status == 401 && c.Reason == "unauthenticated"
		}},
		"not a fence root": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(headerReason, "not_a_fence_root")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"reason":"not_a_fence_root","fence_root":"/blocks/t1"}`))
		}, func(err error) bool {
			var c *ClaimError
			return errors.As(err, &c) && c.FenceRoot == "/blocks/t1" && strings.Contains(err.Error(), "lock /blocks/t1 instead")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := startRedis(t), startFence(t)
			f.claim = tc.claim
			c := s.client(WithFence(f.URL), WithTree())
			_, err := c.Lock(t.Context(), "/r")
			if err == nil || !tc.want(err) {
				t.Errorf("got %v", err)
			}
			s.mustBeFree(c)
		})
	}
	t.Run("not listening", func(t *testing.T) {
		s, f := startRedis(t), startFence(t)
		f.Close()
		c := s.client(WithFence(f.URL))
		if _, err := c.Lock(t.Context(), "/r"); !errors.Is(err, ErrFenceUnreachable) {
			t.Errorf("got %v", err)
		}
		s.mustBeFree(c)
	})
}

func unreachable(err error) bool { return errors.Is(err, ErrFenceUnreachable) }

func answer200(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

func confirmAs(w http.ResponseWriter, r *http.Request, resource, covers string) {
	var f fakeFence
	confirm(w, resource, covers, f.decode(nil, r).Token)
}

func TestClaimWaitsWhileTheFenceSettles(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	var n atomic.Int32
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= 3 {
			refuseWith(w, http.StatusServiceUnavailable, "settling", 0, "")
			return
		}
		f.judgeClaim(w, r)
	}
	mustLock(t, s.client(WithFence(f.URL)), "/r")
}

func TestClaimWaitsNoLongerThanAllowed(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	f.claim = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		refuseWith(w, http.StatusServiceUnavailable, "recovering", 0, "")
	}
	c := s.client(WithFence(f.URL))
	begin := time.Now()
	_, err := c.Lock(t.Context(), "/r")
	var refused *ClaimError
	if !errors.As(err, &refused) || refused.Reason != "recovering" || refused.RetryAfter != time.Hour || !errors.Is(err, ErrNotAcquired) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("took %v although waiting could not help", d)
	}
	s.mustBeFree(c)
}

// hang holds claims until the test ends or the client goes away, and tells.
func (f *fakeFence) hang(t *testing.T) <-chan struct{} {
	begun := make(chan struct{}, 16)
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		f.decode(t, r) // the body must be read before net/http watches the client
		begun <- struct{}{}
		<-r.Context().Done()
	}
	return begun
}

func TestAHangingClaimEndsWithItsContext(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	begun := f.hang(t)
	c := s.client(WithFence(f.URL))
	ctx, cancel := context.WithCancel(t.Context())
	done := lockLater(c, ctx)
	within(t, 5*time.Second, begun, "claim")
	cancel()
	if err := within(t, 5*time.Second, done, "Lock"); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrNotAcquired) {
		t.Errorf("got %v", err)
	}
	s.mustBeFree(c)
}

func TestAHangingClaimEndsWithTheMaxWait(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	f.hang(t)
	c := s.client(WithFence(f.URL), WithMaxWait(100*time.Millisecond))
	_, err := c.TryLock(t.Context(), "/r")
	if !errors.Is(err, ErrFenceUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	s.mustBeFree(c)
}

// A claim that the end of the wait cuts short tells nothing: what the fence
// said before is why there is no lock.
func TestTheFencesReasonOutlastsTheWait(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(context.CancelFunc)
		opts []Option
		want error
	}{
		"max wait":  {func(context.CancelFunc) {}, []Option{WithMaxWait(time.Millisecond)}, ErrNotAcquired},
		"cancelled": {func(cancel context.CancelFunc) { cancel() }, nil, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := startRedis(t), startFence(t)
			begun := f.hang(t)
			hang := f.claim
			var busy atomic.Bool
			busy.Store(true)
			f.claim = func(w http.ResponseWriter, r *http.Request) {
				if !busy.Swap(false) {
					hang(w, r)
					return
				}
				w.Header().Set("Retry-After", "1") // rounded up: there is another try before
				refuseWith(w, http.StatusServiceUnavailable, "busy", 0, "")
			}
			c := s.client(WithFence(f.URL))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := lockLater(c, ctx, tc.opts...)
			within(t, 5*time.Second, begun, "second claim")
			tc.end(cancel)
			err := within(t, 5*time.Second, done, "Lock")
			var refused *ClaimError
			if !errors.As(err, &refused) || refused.Reason != "busy" || refused.RetryAfter != time.Second {
				t.Errorf("got %v", err)
			}
			if !errors.Is(err, ErrNotAcquired) || !errors.Is(err, tc.want) {
				t.Errorf("%v does not match %v", err, tc.want)
			}
			s.mustBeFree(c)
		})
	}
}

func TestTheLeaseIsRenewedDuringTheClaim(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	const ttl = 600 * time.Millisecond
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		held := s.get(keyR)
		end := time.Now().Add(2 * ttl)
		eventually(t, 10*ttl, "two TTLs have passed", func() bool {
			if got := s.get(keyR); got != held {
				t.Errorf("the key was %q and is %q", held, got)
				return true
			}
			return time.Now().After(end)
		})
		f.judgeClaim(w, r)
	}
	l := mustLock(t, s.client(WithFence(f.URL)), "/r", WithTTL(ttl))
	if err := l.Err(); err != nil {
		t.Error(err)
	}
}

func TestALockStolenDuringTheClaimIsNotReturned(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		f.decode(t, r)
		s.rdb.Set(context.Background(), keyR, "99:another", time.Minute)
		<-r.Context().Done()
	}
	c := s.client(WithFence(f.URL))
	_, err := c.TryLock(t.Context(), "/r", WithTTL(500*time.Millisecond))
	var lost *LostError
	if !errors.As(err, &lost) || lost.Reason != Stolen {
		t.Errorf("got %v", err)
	}
	if got := s.get(keyR); got != "99:another" {
		t.Errorf("the other's lock became %q", got)
	}
}

// The claim is confirmed to a process that has slept past its lease.
func TestALeaseThatRanOutDuringTheClaimIsNotReturned(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	c, clock := s.client(WithFence(f.URL)), &fakeClock{}
	c.clock = clock
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		clock.advance(0, 0, time.Minute)
		f.judgeClaim(w, r)
	}
	if _, err := c.TryLock(t.Context(), "/r"); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	s.mustBeFree(c)
}

// A redirected claim would show the owner to whoever is there.
func TestAClaimFollowsNoRedirect(t *testing.T) {
	s, f, other := startRedis(t), startFence(t), startFence(t)
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+claimsPath, http.StatusTemporaryRedirect)
	}
	for name, opts := range map[string][]Option{
		"own HTTP client": nil, "the caller's": {WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}})},
	} {
		c := s.client(append(opts, WithFence(f.URL))...)
		if _, err := c.TryLock(t.Context(), "/r"); !errors.Is(err, ErrFenceUnreachable) {
			t.Errorf("%s: got %v", name, err)
		}
		s.mustBeFree(c)
	}
	if n := len(other.claimed()); n != 0 {
		t.Errorf("%d claims arrived elsewhere", n)
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-1": 0, "1.5": 0, "999999": 0, "Fri, 31 Dec 1999 23:59:59 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
