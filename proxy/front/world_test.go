package front

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// world is a server, and who talks to it over TCP.
type world struct {
	t testing.TB
	*Server
	addr string
	log  *logged
}

// logged is what the server has logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serve starts a server, which is closed with the test.
func serve(t testing.TB, h http.HandlerFunc, with ...func(*Server)) *world {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, l, h, with...)
}

func serveOn(t testing.TB, l net.Listener, h http.HandlerFunc, with ...func(*Server)) *world {
	t.Helper()
	w := &world{t: t, addr: l.Addr().String(), log: new(logged)}
	w.Server = &Server{Handler: h, HeadTimeout: harness.Patience, IdleTimeout: harness.Patience, MaxHead: 64 << 10,
		Log: slog.New(slog.NewTextHandler(w.log, nil))}
	for _, change := range with {
		change(w.Server)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(l) }()
	t.Cleanup(func() {
		w.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Errorf("Serve ended with %v", err)
		}
		harness.Eventually(t, "all connections end", func() (any, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.conns), len(w.conns) == 0
		})
	})
	return w
}

// client is a connection to a server, byte by byte.
type client struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func (w *world) dial() *client {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(harness.Patience)); err != nil {
		w.t.Fatal(err)
	}
	return &client{w.t, conn, bufio.NewReader(conn)}
}

func (c *client) send(text string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
	return c
}

// answer reads the next answer, informational or not.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer to %s: %v", method, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("the answer %d broke off: %v", res.StatusCode, err)
	}
	return res, string(body)
}

// gets checks the next answer, of which want is a part of the body.
func (c *client) gets(status int, want string) *http.Response {
	c.t.Helper()
	res, body := c.answer("GET")
	if res.StatusCode != status || !strings.Contains(body, want) {
		c.t.Fatalf("answered %d %q, want %d %q", res.StatusCode, body, status, want)
	}
	return res
}

// closed checks that nothing follows but the end of the connection.
func (c *client) closed() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.in); err != nil || len(rest) > 0 {
		c.t.Fatalf("the connection was to be closed: got %q, %v", rest, err)
	}
	c.Close()
}

// cut checks that the connection ends, by whatever means, and that nothing comes
// before that.
func (c *client) cut() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	if ne, ok := err.(net.Error); len(rest) > 0 || ok && ne.Timeout() {
		c.t.Fatalf("the connection was to be cut: got %q, %v", rest, err)
	}
	c.Close()
}

// wait waits for an event.
func wait[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(harness.Patience):
		t.Fatalf("%s: not within %v", what, harness.Patience)
	}
	return v
}
