package lockclient

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A cluster of one node owns all slots and still refuses scripts whose keys
// are in two of them.
func TestOnACluster(t *testing.T) {
	port := freePort(t)
	redisCommand(t, "--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir(),
		"--cluster-enabled", "yes", "--cluster-port", freePort(t))
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:" + port}})
	defer func() { _ = rdb.Close() }()
	node := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	defer func() { _ = node.Close() }()
	if err := node.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the cluster is up", func() bool {
		return rdb.Set(t.Context(), "x", "y", time.Second).Err() == nil
	})

	c, err := New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	l := mustLock(t, c, "/a{b}c", WithTTL(time.Hour))
	if err := l.renew(); err != nil {
		t.Error(err)
	}
	if err := l.remint(t.Context(), &FencedError{Highest: l.Token() + 5}); err != nil {
		t.Error(err)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	l = mustLock(t, c, "/r", WithTTL(time.Hour))
	done := lockLater(c, t.Context())
	waiting(t, c, testChannel, 1)
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := within(t, 5*time.Second, done, "Lock"); err != nil {
		t.Error(err)
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
}
