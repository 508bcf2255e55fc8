package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
)

// store is a scripted server: script has each connection for itself.
type store struct {
	net.Listener
	script  func(*peer)
	wants   int64 // connections, checked at the end of the test
	maybe   bool  // fewer are fine: they can be over before they are accepted
	accepts atomic.Int64
	running sync.WaitGroup
}

// peer is the store's end of a connection. Its methods end the script when the
// connection fails.
type peer struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

var errScriptOver = errors.New("the connection failed")

// newStore starts a store that has to see exactly one connection.
func newStore(t *testing.T, script func(*peer)) *store {
	t.Helper()
	return listen(t, nil, script)
}

// listen starts a store, behind TLS if config is given.
func listen(t *testing.T, config *tls.Config, script func(*peer)) *store {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &store{Listener: l, script: script, wants: 1}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.accepts.Add(1)
			s.running.Go(func() {
				if config != nil {
					c = tls.Server(c, config)
				}
				s.play(&peer{Conn: c, t: t, in: bufio.NewReader(c)})
			})
		}
	})
	t.Cleanup(func() {
		s.stop()
		if got := s.accepts.Load(); got > s.wants || got < s.wants && !s.maybe {
			t.Errorf("the store saw %d connections, want %d", got, s.wants)
		}
	})
	return s
}

// newAndKept runs test with a connection that is new, and with one that has
// served a request before: the same has to come of it. serve starts a store that
// has to see one connection, and opens it.
func newAndKept(t *testing.T, test func(t *testing.T, serve func(t *testing.T, opts Options, script func(*peer)) (*store, *Remote))) {
	t.Run("new", func(t *testing.T) {
		test(t, func(t *testing.T, opts Options, script func(*peer)) (*store, *Remote) {
			s := newStore(t, script)
			return s, open(t, s.url(), opts)
		})
	})
	if !canPeek {
		return
	}
	t.Run("kept", func(t *testing.T) {
		test(t, func(t *testing.T, opts Options, script func(*peer)) (*store, *Remote) {
			s := newStore(t, func(p *peer) {
				p.request()
				p.say("HTTP/1.1 204 Done\r\n\r\n")
				script(p)
			})
			opts.Idle = time.Minute
			u := open(t, s.url(), opts)
			u.warm(t)
			return s, u
		})
	})
}

// warm leaves a connection that has served a request.
func (u *Remote) warm(t *testing.T) {
	t.Helper()
	if got := u.try(t, request("PUT", "/first"), "body"); got.outcome != fence.Definite {
		t.Fatal(got)
	}
	if n := u.unused(); n != 1 {
		t.Fatalf("%d connections are kept, want 1", n)
	}
}

// unused returns how many connections are kept.
func (u *Remote) unused() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.pool.idle)
}

// stop waits until all scripts are over. It may be called again.
func (s *store) stop() {
	s.Close()
	s.running.Wait()
}

func (s *store) play(p *peer) {
	defer p.Close()
	defer func() {
		if v := recover(); v != nil && v != errScriptOver {
			panic(v)
		}
	}()
	s.script(p)
}

func (s *store) url() string { return "http://" + s.Addr().String() }

// head reads a request's head, with the empty line.
func (p *peer) head() string {
	var head strings.Builder
	for {
		line, err := p.in.ReadString('\n')
		if err != nil {
			panic(errScriptOver)
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String()
		}
	}
}

// body reads n bytes.
func (p *peer) body(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(p.in, b); err != nil {
		panic(errScriptOver)
	}
	return string(b)
}

// request reads a whole request.
func (p *peer) request() (head, body string) {
	head = p.head()
	_, rest, ok := strings.Cut(head, "\r\nContent-Length: ")
	if !ok {
		return head, ""
	}
	length, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(length)
	if err != nil {
		p.t.Errorf("Content-Length %q", length)
		panic(errScriptOver)
	}
	return head, p.body(n)
}

func (p *peer) say(text string) {
	if _, err := io.WriteString(p.Conn, text); err != nil {
		panic(errScriptOver)
	}
}

// rest reads on until the connection fails or ends, and tells how much came.
func (p *peer) rest() (int64, error) {
	n, err := io.Copy(io.Discard, p.in)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// wasReset checks that a connection was not simply closed.
func (p *peer) wasReset() {
	if n, err := p.rest(); !errors.Is(err, syscall.ECONNRESET) {
		p.t.Errorf("the store saw %d bytes and %v, want a reset", n, err)
	}
}

func open(t *testing.T, url string, opts Options) *Remote {
	t.Helper()
	u, err := Open(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

// request makes one as the proxy does, with headers as "Name: value".
func request(method, target string, headers ...string) *http.Request {
	r := &http.Request{Method: method, RequestURI: target, Host: "public.example", Header: http.Header{}}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r.WithContext(context.Background())
}

// result is what Write returned, with the body read.
type result struct {
	res     *http.Response
	body    string
	outcome fence.Outcome
	err     error
}

func (r result) String() string {
	if r.res == nil {
		return fmt.Sprintf("no answer, %v, %v", r.outcome, r.err)
	}
	return fmt.Sprintf("%d %q, %v, %v", r.res.StatusCode, r.body, r.outcome, r.err)
}

func (u *Remote) try(t *testing.T, r *http.Request, body string) result {
	t.Helper()
	return attempt(t, u, context.Background(), r, strings.NewReader(body), int64(len(body)))
}

func attempt(t *testing.T, u *Remote, ctx context.Context, r *http.Request, body io.Reader, size int64) result {
	t.Helper()
	res, outcome, err := u.Write(ctx, r, body, size)
	return resultOf(t, res, outcome, err)
}

func resultOf(t *testing.T, res *http.Response, outcome fence.Outcome, err error) result {
	t.Helper()
	if (res == nil) == (err == nil) {
		t.Fatalf("Write returned the response %v with the error %v", res, err)
	}
	got := result{res: res, outcome: outcome, err: err}
	if res != nil {
		content, err := io.ReadAll(res.Body)
		if err != nil || res.ContentLength != int64(len(content)) {
			t.Fatalf("the answer's body: %v, %d bytes, ContentLength %d", err, len(content), res.ContentLength)
		}
		got.body = string(content)
	}
	return got
}

// chunkOf is text in chunked transfer coding, without the last chunk.
func chunkOf(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// A body that no socket buffers can hold.
var large = strings.Repeat("0123456789abcdef", 1<<20)
