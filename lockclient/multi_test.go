package lockclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

func lockKey(name string) string { return "{fencegate}:lock:" + name }

func TestLockMulti(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	l, err := c.LockMulti(t.Context(), []string{"/c", "/a", "/b/", "/%61"})
	if err != nil {
		t.Fatal(err)
	}
	value := l.Token().String() + ":" + string(l.Stamp().Owner)
	var names []string
	for _, r := range l.Resources() {
		names = append(names, r.Key())
		if got := s.get(lockKey(r.Key())); got != value {
			t.Errorf("%s holds %q, want %q", r, got, value)
		}
	}
	if d := cmp.Diff([]string{"/a", "/b", "/c"}, names); d != "" {
		t.Error(d)
	}
	if got := l.String(); got != fmt.Sprintf("lock on /a, /b, /c (token %s)", l.Token()) {
		t.Error(got)
	}
	first := l.Deadline()
	if err := l.renew(); err != nil || !l.Deadline().After(first) {
		t.Errorf("%v, deadline %v", err, l.Deadline().Sub(first))
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if left := s.rdb.Keys(t.Context(), "*").Val(); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}

// All or none: a name that is held keeps the others free.
func TestLockMultiIsAllOrNothing(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	b := mustLock(t, c, "/b")
	_, err := c.TryLockMulti(t.Context(), []string{"/a", "/b", "/c"})
	var held *HeldError
	if !errors.As(err, &held) || held.Resource != b.Resource() || !errors.Is(err, ErrNotAcquired) {
		t.Errorf("got %v", err)
	}
	for _, free := range []string{"/a", "/c"} {
		if err := mustLock(t, c, free).Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	before := s.rdb.PTTL(t.Context(), lockKey("/b")).Val()
	if err := b.Err(); err != nil || before <= 0 {
		t.Errorf("%v, %v", err, before)
	}
}

// A wait for several names goes from one that is held to the next.
func TestLockMultiWaitsForEach(t *testing.T) {
	s := startRedis(t)
	holder, c := s.client(), s.client()
	b, d := mustLock(t, holder, "/b", WithTTL(time.Hour)), mustLock(t, holder, "/d", WithTTL(time.Hour))
	done := make(chan error, 1)
	go func() {
		l, err := c.LockMulti(context.Background(), []string{"/a", "/b", "/c", "/d"})
		if err == nil {
			err = l.Unlock(context.Background())
		}
		done <- err
	}()
	waiting(t, c, "{fencegate}:free:/b", 1)
	mustLock(t, holder, "/a").Unlock(t.Context()) // nothing is held meanwhile
	if err := b.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting(t, c, "{fencegate}:free:/d", 1)
	if err := d.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := within(t, 10*time.Second, done, "LockMulti"); err != nil {
		t.Error(err)
	}
}

func TestLockMultiArguments(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	many := make([]string, maxNames+1)
	for i := range many {
		many[i] = fmt.Sprintf("/%d", i)
	}
	for name, paths := range map[string][]string{"none": nil, "too many": many} {
		if _, err := c.TryLockMulti(t.Context(), paths); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, err := c.TryLockMulti(t.Context(), []string{"/ok", "no", "/a//b"})
	var all *multierror.Error
	var path *fence.PathError
	if !errors.As(err, &all) || len(all.Errors) != 2 || !errors.As(err, &path) {
		t.Errorf("got %v", err)
	}
	l, err := c.TryLockMulti(t.Context(), many[:maxNames])
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLockMultiIsLostWithOneOfItsKeys(t *testing.T) {
	s := startRedis(t)
	l, err := s.client(WithTTL(600*time.Millisecond)).TryLockMulti(t.Context(), []string{"/a", "/b"})
	if err != nil {
		t.Fatal(err)
	}
	s.rdb.Set(t.Context(), lockKey("/b"), "99:another", time.Minute)
	within(t, 5*time.Second, l.Lost(), "lost")
	if err := l.Unlock(t.Context()); !errors.Is(err, ErrTakenOver) {
		t.Error(err)
	}
	l.c.work.wait()
	if got := s.get(lockKey("/a")); got != "" {
		t.Errorf("what was still ours is not free: %q", got)
	}
	if d := s.rdb.PTTL(t.Context(), lockKey("/b")).Val(); s.get(lockKey("/b")) != "99:another" || d < 50*time.Second {
		t.Errorf("another's lock was touched: %v left", d)
	}
	c := s.client(WithTTL(600 * time.Millisecond))
	l, err = c.TryLockMulti(t.Context(), []string{"/x", "/y"})
	if err != nil {
		t.Fatal(err)
	}
	s.rdb.Del(t.Context(), lockKey("/y"))
	within(t, 5*time.Second, l.Lost(), "lost")
	if err := l.Err(); !errors.Is(err, errKeyGone) || !strings.Contains(err.Error(), "that of /y") {
		t.Error(err)
	}
	_ = l.Unlock(t.Context())
}

// One claim names all resources; one mark ahead heals all.
func TestLockMultiClaimsAtOnce(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	ahead := fence.Token(time.Now().Add(time.Hour).UnixMicro())
	f.raise("/b", ahead, "another")
	l, err := s.client(WithFence(f.URL)).TryLockMulti(t.Context(), []string{"/b", "/a"}, WithTree())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Unlock(context.Background()) }()
	claims := f.claimed()
	if len(claims) != 2 || !cmp.Equal(claims[1].Resources, []string{"/a", "/b"}) || claims[1].Resource != "" {
		t.Errorf("claims %+v", claims)
	}
	if l.Token() != ahead+1 || f.mark("/a").Token != ahead+1 || f.mark("/b").Token != ahead+1 {
		t.Errorf("token %s, marks %v %v", l.Token(), f.mark("/a"), f.mark("/b"))
	}
	for _, name := range []string{"/a", "/b"} {
		if got := s.get(lockKey(name)); got != l.Token().String()+":"+string(l.Stamp().Owner) {
			t.Errorf("%s holds %q", name, got)
		}
	}
}

func TestLockMultiClaimIsCheckedByName(t *testing.T) {
	for name, resources := range map[string]string{
		"one missing": `[{"resource":"/a"}]`, "one twice": `[{"resource":"/a"},{"resource":"/a"}]`,
		"another": `[{"resource":"/a"},{"resource":"/c"}]`, "one too many": `[{"resource":"/a"},{"resource":"/b"},{"resource":"/c"}]`,
	} {
		s, f := startRedis(t), startFence(t)
		f.claim = func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"resources":%s,"token":%q}`, resources, f.decode(t, r).Token)
		}
		c := s.client(WithFence(f.URL))
		if _, err := c.TryLockMulti(t.Context(), []string{"/a", "/b"}); !errors.Is(err, ErrFenceUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		c.work.wait()
		if left := s.rdb.Keys(t.Context(), "*:lock:*").Val(); len(left) != 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

func TestTransportOfSeveralResources(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	f.claim = func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"resources":[{"resource":"/t/deep","covers":"object"},{"resource":"/t","covers":"tree"},{"resource":"/o","covers":"object"}],"token":%q}`,
			f.decode(t, r).Token)
	}
	l, err := s.client(WithFence(f.URL)).TryLockMulti(t.Context(), []string{"/t", "/o", "/t/deep"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Unlock(context.Background()) }()
	var sent *http.Request
	rt := l.Transport(ok(&sent))
	var scope *ScopeError
	for path, inside := range map[string]bool{"/t": true, "/t/x": true, "/t/deep": true, "/t/deep/er": true, "/o": true, "/o/x": false, "/p": false} {
		err := put(rt, f.URL+path)
		if inside && err != nil || !inside && !errors.As(err, &scope) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for dst, inside := range map[string]bool{"/o": true, "/t/y": true, "/p": false} {
		req := must(http.NewRequest("MOVE", f.URL+"/t/x", nil))
		req.Header.Set("Destination", f.URL+dst)
		_, err := rt.RoundTrip(req)
		if inside && err != nil || !inside && !errors.As(err, &scope) {
			t.Errorf("to %s: %v", dst, err)
		}
	}
	if i := l.match(fence.ResourceOf("/t/deep")); l.Resources()[i].Key() != "/t/deep" {
		t.Errorf("the deepest match of /t/deep is %s", l.Resources()[i])
	}
}
