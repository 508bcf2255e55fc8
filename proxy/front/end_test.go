package front

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/integration/harness"
)

func TestPanics(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			_, _ = io.WriteString(w, "a part")
			_ = w.(*answer).FlushError()
		}
		_, _ = io.WriteString(w, "held back")
		if r.Header["Mine"] != nil {
			panic("mine")
		}
		panic(http.ErrAbortHandler)
	})
	for _, kind := range []string{"", "Mine: yes\r\n"} {
		w.dial().send(get + kind + "\r\n").cut()
		res, err := http.ReadResponse(w.dial().send(put+kind+"\r\n").in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(res.Body); err == nil || string(got) != "a part" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	harness.Eventually(t, "two panics are logged", func() (any, bool) {
		text := w.log.String()
		return text, strings.Count(text, "panic=mine") == 2 && strings.Count(text, "panic=") == 2
	})
}

// TestContextEndsWithAPanic: also where nobody could see the client leave.
func TestContextEndsWithAPanic(t *testing.T) {
	ended := make(chan struct{})
	asked(get+"\r\n", func(_ http.ResponseWriter, r *http.Request) {
		context.AfterFunc(r.Context(), func() { close(ended) })
		panic(http.ErrAbortHandler)
	})
	wait(t, ended, "the end of the context")
}

func TestHijack(t *testing.T) {
	taken := make(chan struct{})
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(-time.Hour))
		r.Context().Done()
		for range 1000 {
			runtime.Gosched() // so that the watch is there
		}
		_, _ = io.WriteString(w, "a")
		conn, both, err := rc.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, _, err := rc.Hijack(); err != http.ErrHijacked {
			t.Errorf("again: %v", err)
		}
		close(taken)
		line, err := both.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		line2, err := both.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		_, _ = both.WriteString(line + line2)
		_ = both.Flush()
	})
	conn := w.dial().send(get + "Connection: close\r\n\r\none\n")
	wait(t, taken, "the connection is taken over")
	conn.send("two\n")
	text, err := io.ReadAll(conn.in)
	if err != nil || !strings.HasSuffix(string(text), "\r\n\r\n1\r\na\r\none\ntwo\n") {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestShutdown: what is idle is closed at once, what is active is answered and
// told, and nothing new is taken.
func TestShutdown(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			inside <- struct{}{}
			<-goOn
		}
	})
	fresh, idle, busy := w.dial(), w.dial(), w.dial()
	idle.send(get+"\r\n").gets(200, "")
	busy.send(put + "\r\n" + put + "\r\n")
	wait(t, inside, "a request is in progress")
	harness.Eventually(t, "the others are idle", func() (any, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		n := 0
		for c := range w.conns {
			if c.state.Load() == idleState {
				n++
			}
		}
		return n, n == 2
	})
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Shutdown(short); !errors.Is(err, context.Canceled) {
		t.Errorf("while a request is in progress: %v", err)
	}
	fresh.closed()
	idle.closed()
	if conn, err := net.Dial("tcp", w.addr); err == nil {
		t.Error("a new connection is taken")
		conn.Close()
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Shutdown(context.Background()) }()
	close(goOn)
	if res := busy.gets(200, ""); !res.Close {
		t.Error("it does not say that the connection ends")
	}
	if err := wait(t, ended, "Shutdown"); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	busy.closed()
	if err := w.Shutdown(context.Background()); err != nil {
		t.Errorf("again: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Serve(l); err != http.ErrServerClosed {
		t.Errorf("Serve: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("its listener is open: %v", err)
	}
}

const idleState = idle

// TestStoppedAtAnyPoint: what comes in between is not served.
func TestStoppedAtAnyPoint(t *testing.T) {
	s := &Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was served") }), HeadTimeout: time.Hour, IdleTimeout: time.Hour, MaxHead: 1 << 10}
	accepted := &wire{in: []byte(get + "\r\n")}
	c := s.take(accepted)
	s.stopping.Store(true) // before it was idle: it cannot be told
	c.serve()
	if accepted.used > 0 {
		t.Error("a request was read")
	}
	ours, theirs := net.Pipe()
	if s.take(theirs) != nil {
		t.Error("a connection is taken")
	}
	if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("it is not closed: %v", err)
	}
}

// TestShutdownRacesRequests: whatever is answered is answered whole.
func TestShutdownRacesRequests(t *testing.T) {
	for range 20 {
		w := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "whole") })
		var all sync.WaitGroup
		var begun atomic.Int32
		for range 8 {
			conn := w.dial()
			all.Go(func() {
				for {
					if _, err := io.WriteString(conn, get+"\r\n"); err != nil {
						return
					}
					res, err := http.ReadResponse(conn.in, nil)
					if err != nil {
						return
					}
					if body, err := io.ReadAll(res.Body); err != nil || string(body) != "whole" {
						t.Errorf("got %q, %v", body, err)
					}
					begun.Add(1)
					if res.Close {
						return
					}
				}
			})
		}
		harness.Eventually(t, "some are answered", func() (any, bool) { n := begun.Load(); return n, n > 20 })
		if err := w.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		all.Wait()
	}
}

func TestClose(t *testing.T) {
	ended := make(chan error, 1)
	inside := make(chan struct{})
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		_, err := io.ReadAll(r.Body)
		ended <- err
	})
	idle, busy := w.dial(), w.dial().send(put+"Content-Length: 5\r\n\r\nab")
	wait(t, inside, "a request is in progress")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := wait(t, ended, "the handler ends"); err == nil {
		t.Error("the body was read")
	}
	idle.cut()
	busy.cut()
}
