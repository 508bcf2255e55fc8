package harness

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A RedisServer is a real redis-server. It keeps its address and its directory
// over restarts; what it remembers depends on its arguments.
type RedisServer struct {
	t    testing.TB
	path string
	dir  string
	port string
	args []string
	proc *Process
}

// Redis starts a redis-server on a free port of the loopback interface. It
// persists nothing unless args, further arguments for it, say so:
// "--appendonly", "yes", "--appendfsync", "always".
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed: run .ci/setup, or apt-get install redis-server")
	}
	r := &RedisServer{t: t, path: path, dir: t.TempDir(), args: args}
	Eventually(t, "a free port for redis", func() (any, bool) {
		r.port = freePort(t)
		return "port " + r.port + " was taken meanwhile", r.start()
	})
	return r
}

// Addr returns host:port.
func (r *RedisServer) Addr() string { return net.JoinHostPort("127.0.0.1", r.port) }

// Freeze stops it as a suspended machine or a cut network does: connections
// stay open and nothing is answered. Thaw undoes that; what was sent meanwhile
// is then carried out.
func (r *RedisServer) Freeze() { r.t.Helper(); r.proc.Pause() }
func (r *RedisServer) Thaw()   { r.t.Helper(); r.proc.Resume() }

// Kill is kill -9, frozen or not.
func (r *RedisServer) Kill() { r.t.Helper(); r.proc.Kill() }

// Restart starts it again at the same address, killing it first if it runs.
func (r *RedisServer) Restart() {
	r.t.Helper()
	r.proc.end()
	Eventually(r.t, "redis to get its port again", func() (any, bool) {
		return "port " + r.port + " is taken", r.start()
	})
}

// FlushAll makes it forget everything, as an operator may by mistake.
func (r *RedisServer) FlushAll() { r.t.Helper(); r.command("FLUSHALL", "+OK") }

// start reports false if the port is taken.
func (r *RedisServer) start() bool {
	r.t.Helper()
	args := []string{"--bind", "127.0.0.1", "--port", r.port, "--dir", r.dir, "--save", "", "--appendonly", "no"}
	r.proc = Start(r.t, "redis", exec.Command(r.path, append(args, r.args...)...))
	// It says so itself, so that another server at this port cannot pass for
	// it.
	_, err := r.proc.out.await(stdout, new(int), func(text string) bool {
		return strings.Contains(text, "Ready to accept connections")
	})
	if err != nil {
		if strings.Contains(strings.Join(r.proc.Stdout(), "\n"), "Address already in use") {
			return false
		}
		r.t.Fatalf("redis-server does not start: %v", err)
	}
	r.command("PING", "+PONG")
	return true
}

// command sends a command without arguments and expects a one-line reply.
func (r *RedisServer) command(command, want string) {
	r.t.Helper()
	got, err := func() (string, error) {
		conn, err := net.DialTimeout("tcp", r.Addr(), Patience)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(Patience))
		fmt.Fprintf(conn, "%s\r\n", command)
		return bufio.NewReader(conn).ReadString('\n')
	}()
	if got = strings.TrimSpace(got); err != nil || got != want {
		r.t.Fatalf("redis answers %s with %q, %v", command, got, err)
	}
}

// freePort returns a port that nobody listens on right now.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
