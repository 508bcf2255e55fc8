package lockclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// tcpRedis is a node with a port of its own, for those that tell one another
// their addresses.
type tcpRedis struct {
	port string
	kill func()
	rdb  *redis.Client
}

func startTCP(t *testing.T, args ...string) *tcpRedis {
	t.Helper()
	port := freePort(t)
	cmd := redisCommand(t, append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir(),
		"--repl-diskless-sync-delay", "0"}, args...)...)
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = rdb.Close() })
	return &tcpRedis{port, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, rdb}
}

// holdsThrough holds a lock while the node that has it fails and another takes
// its place. A short lease is over by its deadline; a long one goes on if the
// replica had its key; tokens rise in any case.
func holdsThrough(t *testing.T, c *Client, replicated func(key string) bool, fail func()) {
	t.Helper()
	short := mustLock(t, c, "/short", WithTTL(time.Second))
	long := mustLock(t, c, "/long", WithTTL(60*time.Second))
	eventually(t, 10*time.Second, "replicated", func() bool {
		return replicated(lockKey("/long")) && replicated("{fencegate}:token")
	})
	highest := max(short.Token(), long.Token())
	fail()
	within(t, 10*time.Second, short.Lost(), "the short lease ends")
	if late := time.Since(short.Deadline()); late > 200*time.Millisecond {
		t.Errorf("noticed %v late", late)
	}
	var lost *LostError
	if !errors.As(short.Err(), &lost) || lost.Reason != Unreachable {
		t.Errorf("the short lease ended with %v", short.Err())
	}
	// The same client finds the new master.
	next, err := c.Lock(t.Context(), "/short", WithMaxWait(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if next.Token() <= highest {
		t.Errorf("token %s after %s", next.Token(), highest)
	}
	if err := next.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.TryLock(t.Context(), "/long"); !errors.Is(err, ErrNotAcquired) {
		t.Errorf("the long lock, held by another: %v", err)
	}
	first := long.Deadline()
	eventually(t, 20*time.Second, "the long lease is renewed there", func() bool {
		_ = long.renew()
		return long.Err() != nil || long.Deadline().After(first)
	})
	if err := long.Err(); err != nil {
		t.Error(err)
	}
	if err := long.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSentinelFailsOver(t *testing.T) {
	master := startTCP(t)
	replica := startTCP(t, "--replicaof", "127.0.0.1 "+master.port)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, `sentinel monitor locks 127.0.0.1 %s 1
sentinel down-after-milliseconds locks 500
sentinel failover-timeout locks 2000
`, master.port), 0o600); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	sentinel := sentinelCommand(t, conf, port)
	eventually(t, 20*time.Second, "the sentinel knows the replica", func() bool {
		got, err := sentinel.Replicas(t.Context(), "locks").Result()
		return err == nil && len(got) == 1 && got[0]["master-link-status"] == "ok"
	})
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "locks", SentinelAddrs: []string{"127.0.0.1:" + port}, ContextTimeoutEnabled: true})
	defer func() { _ = rdb.Close() }()
	c, err := New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	holdsThrough(t, c, func(key string) bool { return replica.rdb.Exists(t.Context(), key).Val() == 1 }, master.kill)
}

func sentinelCommand(t *testing.T, conf, port string) *redis.SentinelClient {
	t.Helper()
	sentinelProcess(t, conf, "--port", port, "--bind", "127.0.0.1", "--sentinel")
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: "127.0.0.1:" + port})
	t.Cleanup(func() { _ = sentinel.Close() })
	eventually(t, 10*time.Second, "the sentinel answers", func() bool { return sentinel.Ping(t.Context()).Err() == nil })
	return sentinel
}

// Three masters and a replica of the one that has the locks.
func TestClusterFailsOver(t *testing.T) {
	var nodes []*tcpRedis
	for range 4 {
		nodes = append(nodes, startTCP(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t),
			"--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0"))
	}
	ctx := t.Context()
	for i, n := range nodes {
		if i < 3 {
			first, last := i*5461, (i+1)*5461-1
			if i == 2 {
				last = 16383
			}
			if err := n.rdb.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.rdb.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", nodes[0].port, busPort(t, nodes[0])).Err(); err != nil {
			t.Fatal(err)
		}
	}
	slot := int(nodes[0].rdb.ClusterKeySlot(ctx, "{fencegate}:token").Val())
	master := nodes[min(slot/5461, 2)]
	eventually(t, 20*time.Second, "the cluster is up", func() bool {
		info := nodes[3].rdb.ClusterInfo(ctx).Val()
		return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:4")
	})
	id := master.rdb.Do(ctx, "CLUSTER", "MYID").Val()
	eventually(t, 10*time.Second, "the replica replicates", func() bool {
		return nodes[3].rdb.Do(ctx, "CLUSTER", "REPLICATE", id).Err() == nil
	})
	replica := nodes[3]
	eventually(t, 20*time.Second, "in step", func() bool {
		return strings.Contains(replica.rdb.Info(ctx, "replication").Val(), "master_link_status:up")
	})

	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"127.0.0.1:" + nodes[0].port, "127.0.0.1:" + nodes[1].port, "127.0.0.1:" + nodes[2].port}, ContextTimeoutEnabled: true})
	defer func() { _ = rdb.Close() }()
	c, err := New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Check(ctx); err != nil {
		t.Error(err)
	}
	// All keys of all names share the slot, so that every script runs.
	for _, name := range []string{"/a{b}c", "/{fencegate}", "/}{", "/%7B%7D", "/caf%C3%A9/%E6%97%A5%E6%9C%AC", "/" + strings.Repeat("n", 300)} {
		r, err := fence.Canonical(name, fence.NameOptions{})
		if err != nil {
			t.Fatal(err)
		}
		keys := c.defaults.space.of([]fence.Resource{r})
		for _, k := range append(append(keys.counted, keys.channels...), strings.Replace(keys.locks[0], "lock", "held", 1)) {
			if got := int(nodes[0].rdb.ClusterKeySlot(ctx, k).Val()); got != slot {
				t.Errorf("%.60q is in slot %d, want %d", k, got, slot)
			}
		}
		l := mustLock(t, c, name)
		if err := l.renew(); err != nil {
			t.Error(err)
		}
		if err := l.remint(ctx, &FencedError{Highest: l.Token() + 5}); err != nil {
			t.Error(err)
		}
		if err := l.Unlock(ctx); err != nil {
			t.Error(err)
		}
	}
	several, err := c.TryLockMulti(ctx, []string{"/a{b}c", "/x", "/y{"})
	if err != nil {
		t.Fatal(err)
	}
	if err := several.Unlock(ctx); err != nil {
		t.Error(err)
	}
	// A replica answers for its master's keys once it is told that reading will do.
	holdsThrough(t, c, func(key string) bool {
		conn := replica.rdb.Conn()
		defer func() { _ = conn.Close() }()
		_ = conn.ReadOnly(context.Background()).Err()
		return conn.Exists(ctx, key).Val() == 1
	}, master.kill)
}

// busPort reads the port that MEET needs from the node itself.
func busPort(t *testing.T, n *tcpRedis) string {
	t.Helper()
	got := n.rdb.ConfigGet(t.Context(), "cluster-port").Val()["cluster-port"]
	if got == "" {
		t.Fatal("no cluster-port")
	}
	return got
}
