package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// A holder is a running runHolder, and what it holds.
type holder struct {
	*harness.Process
	t     testing.TB
	name  string
	token fence.Token
	owner fence.Owner
}

// scene is what scenarios with lock holders begin with.
type scene struct {
	t     testing.TB
	redis *harness.RedisServer
	rdb   *redis.Client
	fence *harness.Server
}

// newScene starts Redis and a fencegate with these arguments.
func newScene(t testing.TB, args ...string) *scene {
	t.Helper()
	s := &scene{t: t, redis: harness.Redis(t, savesNow...), fence: harness.Fencegate(t, args...)}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.redis.Addr()})
	t.Cleanup(func() { s.rdb.Close() })
	return s
}

// savesNow has Redis save now and then, for it is warned of one that never does.
var savesNow = []string{"--save", "3600 1000000"}

const counterKey = "{fencegate}:token"

func lockKey(path string) string { return "{fencegate}:lock:" + path }

// holder starts a lock holder; tokens is "time" or "plain".
func (s *scene) holder(name string, ttl time.Duration, tokens string) *holder {
	s.t.Helper()
	return &holder{
		Process: harness.Worker(s.t, "holder", s.redis.Addr(), s.fence.URL(), name, ttl.String(), tokens),
		t:       s.t, name: name,
	}
}

// awaitFree waits until the lock on path has expired: Redis shows an expired
// key to nobody.
func (s *scene) awaitFree(path string) {
	s.t.Helper()
	harness.Eventually(s.t, "the lock on "+path+" to expire in Redis", func() (any, bool) {
		value, err := s.rdb.Get(context.Background(), lockKey(path)).Result()
		return value, err == redis.Nil
	})
}

// lock waits until the holder has the lock.
func (h *holder) lock(path string) {
	h.t.Helper()
	h.Send("lock " + path)
	h.awaitLocked()
}

func (h *holder) awaitLocked() {
	h.t.Helper()
	words := strings.Fields(h.AwaitLine("locked "))
	token, err := fence.ParseToken(words[1], fence.DefaultMaxToken)
	if err != nil {
		h.t.Fatalf("%s got token %q: %v", h.name, words[1], err)
	}
	h.token, h.owner = token, fence.Owner(words[2])
}

// does sends a line to the holder and compares what it answers; it may end in
// "…" for what does not matter.
func (h *holder) does(line, want string) {
	h.t.Helper()
	h.Send(line)
	got := strings.TrimSpace(h.AwaitLine(""))
	if start, cut := strings.CutSuffix(want, "…"); got != want && (!cut || !strings.HasPrefix(got, start)) {
		h.t.Fatalf("%s: %q is answered %q, want %q", h.name, line, got, want)
	}
}
