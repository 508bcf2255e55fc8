package harness

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestRedisFreezesAndThaws(t *testing.T) {
	r := Redis(t)
	c := dial(t, r)
	c.expect("PING", "+PONG")
	r.Freeze()
	c.send("PING")
	c.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if answer, err := c.answers.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("frozen, but it answers %q, %v", answer, err)
	}
	r.Thaw()
	c.receive("+PONG") // to what it was sent while frozen
}

func TestRedisForgetsAndRemembers(t *testing.T) {
	r := Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	dial(t, r).expect("SET k v", "+OK")
	addr := r.Addr()
	r.Kill()
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Fatal("killed, but it still listens")
	}
	r.Restart()
	if r.Addr() != addr {
		t.Errorf("it moved from %s to %s", addr, r.Addr())
	}
	c := dial(t, r)
	c.expect("EXISTS k", ":1")
	r.FlushAll()
	c.expect("EXISTS k", ":0")

	forgetful := Redis(t)
	dial(t, forgetful).expect("SET k v", "+OK")
	forgetful.Restart()
	dial(t, forgetful).expect("EXISTS k", ":0")
}

func TestRedisSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", "")
	if said := failed(t, func(t testing.TB) { Redis(t) }); !strings.Contains(said, "run .ci/setup") {
		t.Errorf("without redis-server it says %q", said)
	}
}

func TestRedisYieldsATakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := Redis(t)
	free := r.port
	r.Kill()
	_, r.port, _ = net.SplitHostPort(l.Addr().String())
	if r.start() {
		t.Fatal("it started at a port that is taken")
	}
	r.port = free
	r.Restart()
}

type redisConn struct {
	t       *testing.T
	conn    net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, r *RedisServer) redisConn {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return redisConn{t, conn, bufio.NewReader(conn)}
}

func (c redisConn) send(command string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.conn, "%s\r\n", command); err != nil {
		c.t.Fatal(err)
	}
}

func (c redisConn) receive(want string) {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(Patience))
	if got, err := c.answers.ReadString('\n'); strings.TrimSpace(got) != want {
		c.t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

func (c redisConn) expect(command, want string) { c.t.Helper(); c.send(command); c.receive(want) }
