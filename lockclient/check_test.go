package lockclient

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestCheckWarns(t *testing.T) {
	const eviction, persistence = "maxmemory-policy", "neither appendonly nor save"
	for name, tc := range map[string]struct {
		set  map[string]string
		want []string
	}{
		"a cache":                 {map[string]string{"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, []string{eviction, persistence}},
		"evicts what expires":     {map[string]string{"maxmemory": "100mb", "maxmemory-policy": "volatile-ttl"}, []string{eviction, persistence}},
		"evicts nothing":          {map[string]string{"maxmemory": "100mb", "maxmemory-policy": "noeviction"}, []string{persistence}},
		"policy without a limit":  {map[string]string{"maxmemory-policy": "allkeys-lru"}, []string{persistence}},
		"snapshots":               {map[string]string{"save": "3600 1"}, nil},
		"append-only file":        {map[string]string{"appendonly": "yes"}, nil},
		"a cache that is durable": {map[string]string{"save": "3600 1", "maxmemory": "100mb", "maxmemory-policy": "allkeys-random"}, []string{eviction}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			for k, v := range tc.set {
				if err := s.rdb.ConfigSet(t.Context(), k, v).Err(); err != nil {
					t.Fatal(err)
				}
			}
			var mu sync.Mutex
			var heard []string
			c := s.client(WithWarn(func(w string) { mu.Lock(); defer mu.Unlock(); heard = append(heard, w) }))
			got, err := c.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			matches := func(what string, got []string) {
				t.Helper()
				ok := len(got) == len(tc.want)
				for i := range tc.want {
					ok = ok && strings.Contains(got[i], tc.want[i])
				}
				if !ok {
					t.Errorf("%s: %q, want %q", what, got, tc.want)
				}
			}
			matches("Check", got)
			mustLock(t, c, "/a")
			mustLock(t, c, "/b")
			c.work.wait()
			mu.Lock()
			defer mu.Unlock()
			matches("WithWarn", heard)
		})
	}
}

// infoCount counts INFO commands, and can make the server look old.
type infoCount struct {
	mu      sync.Mutex
	n       int
	version string
}

func (h *infoCount) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *infoCount) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *infoCount) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if info, is := cmd.(*redis.StringCmd); is && cmd.Name() == "info" {
				h.mu.Lock()
				h.n++
				if h.version != "" {
					info.SetVal("redis_version:" + h.version + "\r\n")
				}
				h.mu.Unlock()
			}
		}
		return err
	}
}

func TestAnOldRedisIsRefused(t *testing.T) {
	for version, old := range map[string]bool{"4.0.14": true, "2.8.0": true, "5.0.0": false, "7.2.4": false, "unstable": false} {
		s := startRedis(t)
		h := &infoCount{version: version}
		s.rdb.AddHook(h)
		c := s.client()
		_, err := c.Check(t.Context())
		if errors.Is(err, ErrRedisVersion) != old || !old && err != nil {
			t.Errorf("%s: Check: %v", version, err)
		}
		for range 2 { // it stays refused
			l, err := c.TryLock(t.Context(), "/r")
			if errors.Is(err, ErrRedisVersion) != old || !old && err != nil {
				t.Errorf("%s: TryLock: %v", version, err)
			}
			if err == nil {
				_ = l.Unlock(t.Context())
			}
		}
		if old && !strings.Contains(err.Error(), version) {
			t.Errorf("it does not name the version: %v", err)
		}
		s.mustBeFree(c)
	}
}

// The client looks once, not with every lock.
func TestTheCheckIsMadeOnce(t *testing.T) {
	s := startRedis(t)
	h := &infoCount{}
	s.rdb.AddHook(h)
	c := s.client()
	for range 20 {
		if err := mustLock(t, c, "/r").Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if h.n != 1 {
		t.Errorf("it looked %d times", h.n)
	}
}

// A user who may take locks and nothing else takes locks.
func TestTheCheckPassesOverWhatIsForbidden(t *testing.T) {
	s := startRedis(t)
	if err := s.rdb.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">pw", "~{fencegate}:*", "&{fencegate}:*",
		"+@scripting", "+mget", "+get", "+set", "+del", "+exists", "+pttl", "+pexpire", "+time", "+publish", "+subscribe").Err(); err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.rdb.Options().Addr, Username: "app", Password: "pw"})
	defer func() { _ = rdb.Close() }()
	c, err := New(rdb, WithWarn(func(w string) { t.Errorf("warned: %s", w) }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if warnings, err := c.Check(t.Context()); len(warnings) != 0 || err != nil {
		t.Errorf("%q, %v", warnings, err)
	}
	l := mustLock(t, c, "/r")
	done := lockLater(c, t.Context())
	waiting(t, c, testChannel, 1)
	if err := l.renew(); err != nil {
		t.Error(err)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := within(t, 5*time.Second, done, "Lock"); err != nil {
		t.Error(err)
	}
}

func TestCheckOfAQuorum(t *testing.T) {
	g := startGroup(t, 3)
	c := g.client()
	warnings, err := c.Check(t.Context())
	if err != nil || len(warnings) != 3 {
		t.Errorf("%q, %v", warnings, err)
	}
	g.nodes[1].freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if warnings, err := c.Check(ctx); !errors.Is(err, ErrRedisUnreachable) || len(warnings) != 2 {
		t.Errorf("%q, %v", warnings, err)
	}
}
