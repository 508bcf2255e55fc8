package lockclient

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	testHeld = "{ns}:held:/r"
	day      = 24 * time.Hour
)

// The key beside the lock outlives it, and is gone where the lease ended well.
func TestTheHeldKey(t *testing.T) {
	s := startRedis(t)
	keys := []string{testLock, testCounter}
	beside := func(want string) {
		t.Helper()
		if got := s.get(testHeld); got != want {
			t.Errorf("held by %q, want %q", got, want)
		}
		if d := s.rdb.PTTL(t.Context(), testHeld).Val(); want != "" && (d <= day || d > day+time.Minute) {
			t.Errorf("it expires in %v", d)
		}
	}
	s.acquire("me", "0", "plain")
	beside("me")
	s.rdb.PExpire(t.Context(), testHeld, time.Second)
	s.script(renewScript, keys[:1], "me", 30000)
	beside("me")
	s.script(remintScript, keys, "me", "new", 30000, "7", "plain")
	beside("new")
	s.script(releaseScript, keys[:1], "me", "x") // not the owner any more
	beside("new")
	s.script(releaseScript, keys[:1], "new", "x")
	beside("")
	if got := s.acquire("next", "0", "plain"); got != "ok 9" {
		t.Errorf("after a release: %q", got)
	}
	s.rdb.Del(t.Context(), testLock) // the lease runs out
	if got := s.script(releaseScript, keys[:1], "next", "x"); got != "missing" {
		t.Error(got)
	}
	beside("next")
	if got := s.acquire("third", "0", "plain"); got != "ok 10 expired" {
		t.Errorf("after an expiry: %q", got)
	}
	if got := s.acquire("third", "0", "plain"); got != "ok 10" {
		t.Errorf("repeated: %q", got)
	}
	beside("third")
}

// A refused acquisition leaves what it found.
func TestARefusalKeepsTheHeldKey(t *testing.T) {
	s := startRedis(t)
	s.rdb.Set(t.Context(), testHeld, "gone", time.Minute)
	s.set(testCounter, "x")
	if got := s.acquire("me", "0", "plain"); got != "counter x" {
		t.Error(got)
	}
	if s.get(testHeld) != "gone" {
		t.Error("the mark of an expired lease is lost")
	}
}

func TestScriptsWithSeveralKeys(t *testing.T) {
	s := startRedis(t)
	const a, b, c = "{ns}:lock:/a", "{ns}:lock:/b", "{ns}:lock:/c"
	all := []string{a, testCounter, b, c}
	locks := []string{a, b, c}
	if got := s.script(acquireScript, all, "me", 10000, "0", "plain"); got != "ok 1" {
		t.Fatal(got)
	}
	for _, k := range locks {
		if s.get(k) != "1:me" || s.rdb.PTTL(t.Context(), k).Val() <= 0 {
			t.Errorf("%s holds %q", k, s.get(k))
		}
	}
	if got := s.script(acquireScript, all, "me", 10000, "0", "plain"); got != "ok 1" {
		t.Errorf("repeated: %q", got)
	}
	got := s.script(acquireScript, []string{"{ns}:lock:/0", testCounter, c, b}, "you", 10000, "0", "plain")
	if !strings.HasPrefix(got, "held ") || !strings.HasSuffix(got, " "+c) || s.get("{ns}:lock:/0") != "" {
		t.Errorf("overlapping: %q", got)
	}
	if got := s.script(remintScript, all, "me", "new", 20000, "50", "plain"); got != "ok 51" || s.get(b) != "51:new" {
		t.Errorf("remint: %q, %q", got, s.get(b))
	}
	s.rdb.Del(t.Context(), b)
	s.rdb.PExpire(t.Context(), a, 5*time.Second)
	for name, got := range map[string]string{
		"renew":     s.script(renewScript, locks, "new", 10000),
		"remint":    s.script(remintScript, all, "new", "newer", 20000, "50", "plain"),
		"writeback": s.script(writebackScript, all, "new", "99"),
	} {
		if got != "missing "+b {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := s.script(acquireScript, all, "new", 10000, "0", "plain"); !strings.HasPrefix(got, "held ") {
		t.Errorf("the rest of an own lock: %q", got)
	}
	s.rdb.Set(t.Context(), b, "60:you", time.Minute)
	if got := s.script(renewScript, locks, "new", 10000); got != "other "+b {
		t.Error(got)
	}
	if d := s.rdb.PTTL(t.Context(), a).Val(); d > 5*time.Second || s.get(a) != "51:new" || s.get(testCounter) != "51" {
		t.Errorf("a refusal changed %q (%v), counter %s", s.get(a), d, s.get(testCounter))
	}
	if got := s.script(releaseScript, locks, "new", "x", "y", "z"); got != "other "+b {
		t.Error(got)
	}
	if s.get(a) != "" || s.get(b) != "60:you" || s.get(c) != "" {
		t.Errorf("after the release: %q %q %q", s.get(a), s.get(b), s.get(c))
	}
	// A key of another type is nobody's to take, and takes back the others.
	s.flush()
	s.rdb.LPush(t.Context(), c, "x")
	if got := s.script(acquireScript, all, "me", 10000, "0", "plain"); !strings.HasPrefix(got, "error WRONGTYPE") || s.get(a) != "" {
		t.Errorf("%q, %q", got, s.get(a))
	}
	s.flush()
}

func TestWritebackScript(t *testing.T) {
	s := startRedis(t)
	back := func(owner, token string) string {
		return s.script(writebackScript, []string{testLock, testCounter}, owner, token)
	}
	if got := back("me", "9"); got != "missing" || s.get(testCounter) != "" {
		t.Errorf("%q, counter %q", got, s.get(testCounter))
	}
	s.set(testCounter, "4")
	s.acquire("me", "0", "plain") // 5
	s.rdb.PExpire(t.Context(), testLock, 3*time.Second)
	for _, tc := range []struct{ owner, token, want, lock, counter string }{
		{"another", "9", "other", "5:me", "5"},
		{"me", "9", "ok 9", "9:me", "9"},
		{"me", "9", "ok 9", "9:me", "9"},
		{"me", "7", "ok 7", "7:me", "9"}, // the counter has gone on with other locks
		{"me", "9007199254740991", "ok 9007199254740991", "9007199254740991:me", "9007199254740991"},
	} {
		if got := back(tc.owner, tc.token); got != tc.want || s.get(testLock) != tc.lock || s.get(testCounter) != tc.counter {
			t.Errorf("%v: %q, lock %q, counter %q", tc, got, s.get(testLock), s.get(testCounter))
		}
	}
	if d := s.rdb.PTTL(t.Context(), testLock).Val(); d <= 0 || d > 3*time.Second {
		t.Errorf("the lease is %v now", d)
	}
	s.set(testCounter, "x")
	if got := back("me", "9"); got != "counter x" {
		t.Error(got)
	}
}

// A crashed holder cannot count: the next one does, once.
func TestTheNextHolderCountsAnExpiredLease(t *testing.T) {
	s := startRedis(t)
	reg := prometheus.NewPedanticRegistry()
	c := s.client(WithMetrics(NewMetrics(reg)), WithName("job"))
	count := func() float64 { return values(t, reg)["lease_expired_total{name=job}"] }
	l := mustLock(t, c, "/r")
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustLock(t, c, "/r").Unlock(t.Context())
	if n := count(); n != 0 {
		t.Errorf("%v leases ran out although all were released", n)
	}
	// The crashed one: its script ran, and nothing of it came after.
	if got := s.script(acquireScript, []string{keyR, "{fencegate}:token"}, "crashed", 200, "0", "time"); !strings.HasPrefix(got, "ok") {
		t.Fatal(got)
	}
	l, err := c.Lock(t.Context(), "/r")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock(context.Background())
	mustLock(t, c, "/r").Unlock(t.Context())
	if n := count(); n != 1 {
		t.Errorf("%v leases ran out, want 1", n)
	}
}

// In a quorum one node that missed the release does not make it an expiry.
func TestAQuorumCountsAnExpiredLease(t *testing.T) {
	g := startGroup(t, 3)
	reg := prometheus.NewPedanticRegistry()
	c := g.client(WithMetrics(NewMetrics(reg)))
	for i, p := range g.nodes {
		p.admin.Set(t.Context(), "{fencegate}:held:/r", "crashed", time.Minute)
		if i == 0 {
			_ = take(t, c, "/r").Unlock(t.Context())
			if n := values(t, reg)["lease_expired_total{name=default}"]; n != 0 {
				t.Error("one node's word was enough")
			}
			p.admin.Set(t.Context(), "{fencegate}:held:/r", "crashed", time.Minute)
		}
	}
	eventually(t, 5*time.Second, "acquired on two marked nodes", func() bool {
		_ = take(t, c, "/r").Unlock(t.Context())
		return values(t, reg)["lease_expired_total{name=default}"] == 1
	})
}
