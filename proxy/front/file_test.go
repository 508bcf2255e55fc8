package front

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// content is a file's.
func content(t *testing.T, size int) (name string, text []byte) {
	t.Helper()
	text = make([]byte, size)
	for i := range text {
		text[i] = byte(rand.Uint32())
	}
	name = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, text
}

// copying is a connection that sends files as net does those that sendfile(2)
// does not take: it may have read more than it has sent.
type copying struct{ *net.TCPConn }

func (c copying) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{c.TCPConn}, struct{ io.Reader }{r}, make([]byte, 1<<20))
}

// counting is a TCP connection as a listener that counts wraps it.
type counting struct{ *net.TCPConn }

// opaque is a connection of which nothing is known.
type opaque struct{ net.Conn }

// wrapped is a listener whose connections are something else.
type wrapped struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (l wrapped) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		c = l.wrap(c)
	}
	return c, err
}

var kinds = map[string]func(net.Conn) net.Conn{
	"TCP":      func(c net.Conn) net.Conn { return c },
	"counting": func(c net.Conn) net.Conn { return &counting{c.(*net.TCPConn)} },
	"copying":  func(c net.Conn) net.Conn { return copying{c.(*net.TCPConn)} },
	"opaque":   func(c net.Conn) net.Conn { return opaque{c} },
}

func serveKind(t *testing.T, kind func(net.Conn) net.Conn, h http.HandlerFunc) *world {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, wrapped{l, kind}, h)
}

// TestFiles: whole, in part, with more than was declared, and with less.
func TestFiles(t *testing.T) {
	name, text := content(t, 300<<10)
	for kind, wrap := range kinds {
		for _, c := range []struct {
			name           string
			method         string
			length, limit  int64 // −1: none
			n              int64 // what is reported, and sent
			err            error
			unknown, whole bool
		}{
			{name: "all", length: 300 << 10, limit: -1, n: 300 << 10, whole: true},
			{name: "limited", length: 300 << 10, limit: 300 << 10, n: 300 << 10, whole: true},
			{name: "a limit beyond", length: 300 << 10, limit: 400 << 10, n: 300 << 10, whole: true},
			{name: "a part", length: 1000, limit: 1000, n: 1000, whole: true},
			{name: "nothing", length: 0, limit: 0, n: 0, whole: true},
			{name: "more than declared", length: 1000, limit: -1, n: 1000, err: http.ErrContentLength, whole: true},
			{name: "a limit above what was declared", length: 1000, limit: 1001, n: 1000, err: http.ErrContentLength, whole: true},
			{name: "less than declared", length: 400 << 10, limit: -1, n: 300 << 10},
			{name: "no length", length: -1, limit: -1, n: 300 << 10, whole: true},
			{name: "HEAD", method: "HEAD", length: 300 << 10, limit: -1, n: 300 << 10, whole: true},
		} {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				w := serveKind(t, wrap, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/next" {
						return
					}
					file, err := os.Open(name)
					if err != nil {
						t.Error(err)
						return
					}
					defer file.Close()
					if c.length >= 0 {
						w.Header().Set("Content-Length", strconv.FormatInt(c.length, 10))
					}
					src := io.Reader(file)
					if c.limit >= 0 {
						src = &io.LimitedReader{R: file, N: c.limit}
					}
					n, err := w.(io.ReaderFrom).ReadFrom(src)
					if n != c.n || err != c.err {
						t.Errorf("sent %d, %v, want %d, %v", n, err, c.n, c.err)
					}
					if l, ok := src.(*io.LimitedReader); ok && l.N != c.limit-n {
						t.Errorf("%d left of %d", l.N, c.limit)
					}
				})
				method := "GET"
				if c.method != "" {
					method = c.method
				}
				conn := w.dial().send(method + " / HTTP/1.1\r\nHost: h\r\n\r\n")
				res, err := http.ReadResponse(conn.in, &http.Request{Method: method})
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				want := text[:c.n]
				if method == "HEAD" {
					want = nil
				}
				if !bytes.Equal(got, want) || (err == nil) != c.whole {
					t.Fatalf("got %d bytes, %v", len(got), err)
				}
				if !c.whole {
					conn.closed()
					return
				}
				conn.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n").gets(200, "")
			})
		}
	}
}

// TestFileAcrossDeadlines: a deadline that was set for what came before passes
// in the middle of a file, which comes whole, not a byte of it twice or left
// out.
func TestFileAcrossDeadlines(t *testing.T) {
	name, text := content(t, 16<<20)
	for kind, wrap := range kinds {
		t.Run(kind, func(t *testing.T) {
			passed := make(chan struct{})
			w := serveKind(t, wrap, func(w http.ResponseWriter, r *http.Request) {
				file, err := os.Open(name)
				if err != nil {
					t.Error(err)
					return
				}
				defer file.Close()
				a := w.(*answer)
				soon := time.Now().Add(50 * time.Millisecond)
				_ = a.SetWriteDeadline(soon)
				w.Header().Set("Content-Length", strconv.Itoa(len(text)))
				_ = a.FlushError() // so the socket has it
				_ = a.SetWriteDeadline(time.Now().Add(time.Hour))
				go func() { // the client takes nothing until then
					defer close(passed)
					time.Sleep(time.Until(soon.Add(50 * time.Millisecond)))
				}()
				if n, err := a.ReadFrom(file); n != int64(len(text)) || err != nil {
					t.Errorf("sent %d, %v", n, err)
				}
			})
			conn := w.dial().send(get + "\r\n")
			wait(t, passed, "the deadline passes")
			if _, got := conn.answer("GET"); got != string(text) {
				t.Error("got something else")
			}
		})
	}
}

// TestFileIsNotTaken: the write deadline holds for files on all connections.
func TestFileIsNotTaken(t *testing.T) {
	name, _ := content(t, 16<<20)
	for kind, wrap := range kinds {
		t.Run(kind, func(t *testing.T) {
			failed := make(chan error, 1)
			w := serveKind(t, wrap, func(w http.ResponseWriter, r *http.Request) {
				file, err := os.Open(name)
				if err != nil {
					t.Error(err)
					return
				}
				defer file.Close()
				w.Header().Set("Content-Length", strconv.Itoa(16<<20))
				_ = w.(*answer).SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
				_, err = w.(io.ReaderFrom).ReadFrom(file)
				failed <- err
			})
			w.dial().send(get + "\r\n")
			if err := wait(t, failed, "sending fails"); !os.IsTimeout(err) {
				t.Errorf("sending ended with %v", err)
			}
		})
	}
}
