package lockclient

import (
	"bufio"
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	// go-redis' own: it looks for a dead server once a second, and after Close
	// ends with the next look; the other waits 200 ms after a look at a cluster.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9.(*clusterStateHolder).LazyReload.func1"))
}

// server is a real Redis of one test. When the test ends, every lock key in it
// must have an expiry.
type server struct {
	t   *testing.T
	cmd *exec.Cmd
	rdb *redis.Client

	mu    sync.Mutex
	wrote func([]byte) // see onWrite
}

// onWrite calls f with whatever is sent to Redis from now on, after it is sent.
func (s *server) onWrite(f func([]byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = f
}

type watchedConn struct {
	net.Conn
	s *server
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.s.mu.Lock()
	wrote := c.s.wrote
	c.s.mu.Unlock()
	if wrote != nil {
		wrote(b)
	}
	return n, err
}

func startRedis(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	cmd := redisCommand(t, "--port", "0", "--unixsocket", socket, "--dir", dir)
	s := &server{t: t, cmd: cmd}
	s.rdb = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 20,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &watchedConn{conn, s}, err
		}})
	t.Cleanup(func() {
		s.thaw()
		s.checkExpiries()
		_ = s.rdb.Close()
	})
	return s
}

// redisCommand starts a redis-server that keeps nothing on disk, and returns
// once it accepts connections.
func redisCommand(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if testing.Short() {
			t.Skip("no redis-server")
		}
		t.Fatalf("these tests need redis-server: %v", err)
	}
	return startProcess(t, exec.Command(bin, append([]string{"--save", "", "--appendonly", "no"}, args...)...),
		// "... tcp" with a port, "... unix" or "at <socket>" with a socket.
		"ready to accept connections")
}

// sentinelProcess starts a sentinel, which writes what it learns into conf.
func sentinelProcess(t testing.TB, conf string, args ...string) {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("these tests need redis-server: %v", err)
	}
	startProcess(t, exec.Command(bin, append([]string{conf}, args...)...), "sentinel id is")
}

// startProcess returns once the process has written what it says when it is
// ready, in any case of letters.
func startProcess(t testing.TB, cmd *exec.Cmd, ready string) *exec.Cmd {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() {
			t.Fatalf("redis-server ended: %v", lines.Err())
		}
		if strings.Contains(strings.ToLower(lines.Text()), ready) {
			return cmd
		}
	}
}

func (s *server) checkExpiries() {
	keys, err := s.rdb.Keys(context.Background(), "*:lock:*").Result()
	if err != nil {
		s.t.Errorf("list keys: %v", err)
	}
	for _, k := range keys {
		if d := s.rdb.PTTL(context.Background(), k).Val(); d == -1 {
			s.t.Errorf("key %q never expires", k)
		}
	}
}

// freeze stops the server like a stalled machine does: connections stay open
// and nothing answers. It returns once the server stands still.
func (s *server) freeze() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(s.cmd.Process.Pid, &ws, unix.WUNTRACED, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || !ws.Stopped() {
			s.t.Fatalf("redis-server did not stop: %v, status %x", err, ws)
		}
		return
	}
}

func (s *server) thaw() { _ = s.cmd.Process.Signal(unix.SIGCONT) }

func (s *server) get(key string) string {
	s.t.Helper()
	v, err := s.rdb.Get(context.Background(), key).Result()
	if err != nil && err != redis.Nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *server) set(key, value string) {
	s.t.Helper()
	if err := s.rdb.Set(context.Background(), key, value, 0).Err(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) flush() {
	s.t.Helper()
	if err := s.rdb.FlushAll(context.Background()).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// client returns a Client of this server whose background work must have ended
// when the test does.
func (s *server) client(opts ...Option) *Client {
	s.t.Helper()
	c, err := New(s.rdb, opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.thaw()
		if err := c.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return c
}

// mustLock takes a lock that is free.
func mustLock(t *testing.T, c *Client, path string, opts ...Option) *Lock {
	t.Helper()
	l, err := c.TryLock(t.Context(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Unlock(context.Background()) })
	return l
}

// within fails the test unless ch is ready in time.
func within[T any](t *testing.T, d time.Duration, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(d):
		t.Fatalf("%s: not within %v", what, d)
		panic("unreachable")
	}
}
