package lockclient

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

// group is several independent Redis nodes, for clients of NewRedlock.
type group struct {
	t     *testing.T
	nodes []*peer
}

// peer is one node. It is reached through a relay, which can delay and cut.
type peer struct {
	t       *testing.T
	dir     string
	socket  string
	cmd     *exec.Cmd
	started int
	admin   *redis.Client
	relay   *relay
}

func startGroup(t *testing.T, n int) *group {
	t.Helper()
	g := &group{t: t}
	for range n {
		p := &peer{t: t, dir: t.TempDir()}
		p.socket = filepath.Join(p.dir, "s")
		p.start("")
		p.admin = redis.NewClient(&redis.Options{Network: "unix", Addr: p.socket, MaxRetries: -1, DialerRetries: 1})
		p.relay = startRelay(t, p.socket)
		t.Cleanup(func() {
			p.signal(unix.SIGCONT)
			keys, err := p.admin.Keys(context.Background(), "*").Result()
			for _, k := range keys {
				if d := p.admin.PTTL(context.Background(), k).Val(); d == -1 && !strings.HasSuffix(k, "}:token") {
					t.Errorf("key %q never expires (%v)", k, err)
				}
			}
			_ = p.admin.Close()
		})
		g.nodes = append(g.nodes, p)
	}
	return g
}

// start runs the node, empty but for the counter, and lets clients reach it
// only then.
func (p *peer) start(counter string) {
	p.t.Helper()
	p.started++
	private := filepath.Join(p.dir, strconv.Itoa(p.started))
	p.cmd = redisCommand(p.t, "--port", "0", "--unixsocket", private, "--dir", p.dir)
	if counter != "" {
		rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: private})
		err := rdb.Set(context.Background(), "{fencegate}:token", counter, 0).Err()
		_ = rdb.Close()
		if err != nil {
			p.t.Errorf("set the counter: %v", err)
		}
	}
	if err := os.Rename(private, p.socket); err != nil {
		p.t.Error(err)
	}
}

func (p *peer) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// freeze returns once the node stands still; thaw ends that.
func (p *peer) freeze() { (&server{t: p.t, cmd: p.cmd}).freeze() }
func (p *peer) thaw()   { p.signal(unix.SIGCONT) }

// kill ends the node with all its data.
func (p *peer) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// rejoin starts a killed node as the rule for nodes without data wants it, once
// the longest TTL has passed since it was killed.
func (g *group) rejoin(i int) {
	highest, read := 0, 0
	for j, p := range g.nodes {
		if j == i {
			continue
		}
		v, err := p.admin.Get(context.Background(), "{fencegate}:token").Int()
		if err == nil || err == redis.Nil {
			read, highest = read+1, max(highest, v)
		}
	}
	if read < len(g.nodes)/2+1 {
		g.t.Errorf("only %d of the other nodes told their counter", read)
	}
	g.nodes[i].start(strconv.Itoa(highest))
}

// client returns a client of the whole group with connections of its own.
func (g *group) client(opts ...Option) *Client { return g.hooked(nil, opts...) }

// hooked has hook(i) see all commands to node i.
func (g *group) hooked(hook func(node int) redis.Hook, opts ...Option) *Client {
	g.t.Helper()
	var rdbs []redis.UniversalClient
	for i, p := range g.nodes {
		rdb := redis.NewClient(&redis.Options{Addr: p.relay.addr(), PoolSize: 30, DialerRetries: 1,
			ContextTimeoutEnabled: true, Username: "default", Password: "secret-of-the-nodes"})
		if hook != nil {
			rdb.AddHook(hook(i))
		}
		g.t.Cleanup(func() { _ = rdb.Close() })
		rdbs = append(rdbs, rdb)
	}
	c, err := NewRedlock(rdbs, opts...)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		for _, p := range g.nodes {
			p.thaw()
			p.relay.delay.Store(0)
		}
		if err := c.Close(); err != nil {
			g.t.Error(err)
		}
	})
	return c
}

// holders returns on how many nodes the lock key of /r is held by owner.
func (g *group) holders(owner string) int {
	n := 0
	for _, p := range g.nodes {
		if v := p.admin.Get(context.Background(), keyR).Val(); strings.HasSuffix(v, ":"+owner) {
			n++
		}
	}
	return n
}

// acquire takes /r on one node as a client of that node alone.
func (p *peer) acquire(owner string) string {
	p.t.Helper()
	s := &server{t: p.t, rdb: p.admin}
	return s.script(acquireScript, []string{keyR, "{fencegate}:token"}, owner, 10000, "0", "plain")
}

// relay hands bytes on over TCP, after a delay.
type relay struct {
	ln    net.Listener
	to    string
	delay atomic.Int64 // ns, each way
	conns sync.WaitGroup
}

func startRelay(t *testing.T, socket string) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{ln: ln, to: socket}
	r.conns.Go(r.serve)
	t.Cleanup(func() {
		_ = ln.Close()
		r.conns.Wait()
	})
	return r
}

func (r *relay) addr() string { return r.ln.Addr().String() }

func (r *relay) serve() {
	for {
		client, err := r.ln.Accept()
		if err != nil {
			return
		}
		node, err := net.Dial("unix", r.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.conns.Go(func() { r.copy(node, client) })
		r.conns.Go(func() { r.copy(client, node) })
	}
}

func (r *relay) copy(to, from net.Conn) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if d := r.delay.Load(); d > 0 {
			time.Sleep(time.Duration(d)) // what it is for
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// take takes a lock that is free. A busy machine may let a try at a quorum fail:
// a node has 50 ms.
func take(t *testing.T, c *Client, path string, opts ...Option) *Lock {
	t.Helper()
	l, err := c.Lock(t.Context(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Unlock(context.Background()) })
	return l
}

// takeAll takes a lock on all nodes, as it is when none of them is late.
func (g *group) takeAll(c *Client, path string, opts ...Option) *Lock {
	g.t.Helper()
	var l *Lock
	eventually(g.t, 20*time.Second, "a lock on all nodes", func() bool {
		l = take(g.t, c, path, opts...)
		if count(l.at) == len(g.nodes) {
			return true
		}
		_ = l.Unlock(g.t.Context())
		return false
	})
	return l
}
