package front

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// failing is a listener whose first Accepts fail.
type failing struct {
	net.Listener
	errs chan error
}

func (l *failing) Accept() (net.Conn, error) {
	select {
	case err := <-l.errs:
		return nil, &net.OpError{Op: "accept", Err: err}
	default:
		return l.Listener.Accept()
	}
}

func TestAcceptFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 3)
	errs <- syscall.EMFILE
	errs <- syscall.ENFILE
	w := serveOn(t, &failing{l, errs}, nothing)
	w.dial().send(get+"\r\n").gets(200, "")
	if text := w.log.String(); strings.Count(text, "accepting a connection failed") != 2 || !strings.Contains(text, "again_in=10ms") {
		t.Errorf("logged %q", text)
	}

	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	errs <- syscall.EBADF
	if err := w.Serve(&failing{l, errs}); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Serve: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("its listener is open: %v", err)
	}
}

// TestConnectionsAreClosed: whoever counts them gets all back, however they
// end.
func TestConnectionsAreClosed(t *testing.T) {
	var open atomic.Int32
	w := serveKind(t, func(c net.Conn) net.Conn {
		open.Add(1)
		return &tracked{TCPConn: c.(*net.TCPConn), closed: sync.OnceFunc(func() { open.Add(-1) })}
	}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic(http.ErrAbortHandler)
		case "/hijack":
			conn, _, err := w.(*answer).Hijack()
			if err != nil {
				t.Error(err)
			}
			conn.Close()
		}
	})
	for _, request := range []string{get + "Connection: close\r\n\r\n", "bad\r\n\r\n", "GET /panic HTTP/1.1\r\nHost: h\r\n\r\n", "GET /hijack HTTP/1.1\r\nHost: h\r\n\r\n",
		put + "Content-Length: 5\r\n\r\nab"} {
		conn := w.dial().send(request)
		_ = conn.Conn.(*net.TCPConn).CloseWrite()
		_, _ = io.ReadAll(conn.in)
	}
	harness.Eventually(t, "all are closed", func() (any, bool) { n := open.Load(); return n, n == 0 })
}

// tracked tells when it is closed.
type tracked struct {
	*net.TCPConn
	closed func()
}

func (c *tracked) Close() error {
	c.closed()
	return c.TCPConn.Close()
}

// TestOtherConnections: one that is not TCP, nor has a descriptor to be asked.
func TestOtherConnections(t *testing.T) {
	for name, wrap := range kinds {
		w := serveKind(t, wrap, func(w http.ResponseWriter, r *http.Request) {
			r.Context().Done()
			_, _ = io.Copy(w, r.Body)
		})
		conn := w.dial()
		for range 3 {
			conn.send(put + "Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n")
			conn.gets(100, "")
			conn.send(strings.Repeat("a", 100000))
			if _, body := conn.answer("PUT"); len(body) != 100000 {
				t.Errorf("%s: got %d bytes", name, len(body))
			}
		}
	}
	ours, theirs := net.Pipe()
	s := &Server{Handler: http.HandlerFunc(nothing), HeadTimeout: time.Hour, IdleTimeout: time.Hour, MaxHead: 1 << 10}
	ended := make(chan struct{})
	c := s.take(theirs)
	go func() { defer close(ended); c.serve() }()
	(&client{t, ours, bufio.NewReader(ours)}).send(get+"\r\n").gets(200, "")
	ours.Close()
	wait(t, ended, "the connection ends")
}
