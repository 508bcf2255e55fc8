package front

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// leavings are the ways in which a client leaves.
var leavings = map[string]func(*client){
	"closes":      func(c *client) { c.Close() },
	"half-closes": func(c *client) { _ = c.Conn.(*net.TCPConn).CloseWrite() },
	"resets": func(c *client) {
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
		c.Close()
	},
}

// TestContextEndsWhenTheClientLeaves: in whatever state the body is, if somebody
// has asked for Done; and not before.
func TestContextEndsWhenTheClientLeaves(t *testing.T) {
	all := put + "Content-Length: 6\r\n\r\nabcdef"
	for _, c := range []struct {
		name    string
		request string
		read    int  // of the body, before Done is waited for
		early   bool // Done is asked for before that
	}{
		{"no body", get + "\r\n", 0, false},
		{"not read", all, 0, false},
		{"not all has come", put + "Content-Length: 6\r\n\r\nabc", 0, false},
		{"partly read", all, 3, false},
		{"partly read, watched", all, 3, true},
		{"what has come is read", put + "Content-Length: 6\r\n\r\nabc", 3, true},
		{"read", all, 6, false},
		{"read, watched", all, 6, true},
		{"a chunk is read", te + "\r\n6\r\nabcdef\r\n", 6, true},
		{"a request behind it", all + get + "\r\n", 6, true},
		{"much behind it", put + "Content-Length: 500000\r\n\r\n" + strings.Repeat("a", 100000), 10, true},
	} {
		for how, leave := range leavings {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				begun, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/" && c.read > 0 {
						return // the request behind it
					}
					if c.early {
						r.Context().Done()
					}
					close(begun)
					if _, err := io.ReadFull(r.Body, make([]byte, c.read)); err != nil {
						t.Errorf("reading: %v", err)
					}
					done := r.Context().Done()
					select {
					case <-done:
						t.Error("it has ended too early")
					default:
					}
					if err := r.Context().Err(); err != nil {
						t.Errorf("its error is %v", err)
					}
					close(ready)
					wait(t, done, "the context ends")
					ended <- r.Context().Err()
				})
				end := strings.Index(c.request, "\r\n\r\n") + 4
				conn := w.dial().send(c.request[:end])
				wait(t, begun, "the request begins") // so that its body does not come with its head
				conn.send(c.request[end:])
				wait(t, ready, "the handler waits")
				leave(conn)
				if err := wait(t, ended, "the handler ends"); err != context.Canceled {
					t.Errorf("its error is %v", err)
				}
			})
		}
	}
}

// TestWatchOutlastsDeadlines: they are for reading.
func TestWatchOutlastsDeadlines(t *testing.T) {
	ready, ended := make(chan struct{}), make(chan struct{})
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = w.(*answer).SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := io.ReadAll(r.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading: %v", err)
		}
		select {
		case <-r.Context().Done():
			t.Error("a deadline ended the context")
		case <-time.After(100 * time.Millisecond): // also what was left of HeadTimeout
		}
		close(ready)
		wait(t, r.Context().Done(), "the context ends")
		close(ended)
	}, func(s *Server) { s.HeadTimeout = 50 * time.Millisecond })
	conn := w.dial().send(put + "Content-Length: 6\r\n\r\nabc")
	wait(t, ready, "the deadlines pass")
	conn.Close()
	wait(t, ended, "the handler ends")
}

// TestContextEndsDuringARead: the goroutine that waits is not the one that reads.
func TestContextEndsDuringARead(t *testing.T) {
	for how, leave := range leavings {
		t.Run(how, func(t *testing.T) {
			read, ended := make(chan struct{}), make(chan error, 2)
			w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				result := make(chan error, 1)
				go func() {
					_, err := io.ReadFull(r.Body, make([]byte, 3))
					close(read)
					if err == nil {
						_, err = io.ReadAll(r.Body)
					}
					result <- err
				}()
				wait(t, r.Context().Done(), "the context ends")
				ended <- r.Context().Err()
				ended <- <-result
			})
			conn := w.dial().send(put + "Content-Length: 6\r\n\r\nabc")
			wait(t, read, "the body is read")
			leave(conn)
			if err := wait(t, ended, "the context has ended"); err != context.Canceled {
				t.Errorf("its error is %v", err)
			}
			if err := wait(t, ended, "the Read has ended"); err == nil || how != "resets" && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the Read ended with %v", err)
			}
		})
	}
}

// TestWatchingLosesNothing: bytes, deadlines, further requests. What comes,
// stops and comes again while somebody waits is no end.
func TestWatchingLosesNothing(t *testing.T) {
	step := make(chan string)
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		a := w.(*answer)
		done := r.Context().Done()
		var all strings.Builder
		b := make([]byte, 5)
		for {
			_ = a.SetReadDeadline(time.Now().Add(harness.Patience))
			n, err := r.Body.Read(b)
			all.Write(b[:n])
			if n > 0 {
				step <- string(b[:n])
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("reading: %v", err)
				return
			}
		}
		select {
		case <-done:
			t.Error("the context has ended")
		default:
		}
		_, _ = io.WriteString(w, all.String())
	})
	conn := w.dial()
	for _, end := range []string{"", "GET"} { // a part of the next request, as a trap for the watch
		conn.send(put + "Content-Length: 300\r\n\r\n")
		for range 100 {
			conn.send("abc")
			for got := ""; len(got) < 3; {
				got += wait(t, step, "a piece comes")
			}
		}
		conn.gets(200, strings.Repeat("abc", 100))
		conn.send(end)
		if end != "" {
			conn.send(" / HTTP/1.1\r\nHost: h\r\n\r\n").gets(200, "")
		}
	}
}

// TestContextEndsWithTheRequest: what was derived from it, too; and the next
// request of the connection has another one.
func TestContextEndsWithTheRequest(t *testing.T) {
	var kept []context.Context
	after := make(chan struct{}, 10)
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		for _, ctx := range kept {
			wait(t, ctx.Done(), "the end of one of an earlier request")
			if ctx.Err() != context.Canceled {
				t.Errorf("one of an earlier request: %v", ctx.Err())
			}
		}
		if err := r.Context().Err(); err != nil {
			t.Errorf("a new one: %v", err)
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
		_ = cancel // by the end of the request
		type key struct{}
		kept = append(kept, ctx, context.WithValue(ctx, key{}, 1), r.Context())
		context.AfterFunc(r.Context(), func() { after <- struct{}{} })
		stop := context.AfterFunc(r.Context(), func() { t.Error("it was stopped") })
		if !stop() {
			t.Error("it could not be stopped")
		}
	})
	conn := w.dial()
	for range 5 {
		conn.send(get+"\r\n").gets(200, "")
	}
	conn.send(get + "\r\n" + get + "\r\n")
	conn.gets(200, "")
	conn.gets(200, "")
	for range 7 {
		wait(t, after, "AfterFunc")
	}
}

// TestDerivedContexts: they end with the request's, and cost no goroutine each.
func TestDerivedContexts(t *testing.T) {
	var derived []context.Context
	var stops []func() bool
	ended := make(chan struct{}, 100)
	(&wire{in: []byte(get + "\r\n")}).over(func(_ http.ResponseWriter, r *http.Request) {
		before := runtime.NumGoroutine()
		for range 100 {
			ctx, cancel := context.WithCancelCause(r.Context())
			_ = cancel // by the end of the request
			derived = append(derived, ctx)
			stops = append(stops, context.AfterFunc(r.Context(), func() { ended <- struct{}{} }))
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines more", n-before)
		}
		if context.Cause(r.Context()) != nil || r.Context().Value("a") != nil {
			t.Errorf("its cause is %v", context.Cause(r.Context()))
		}
	})
	for i := range derived {
		if err := derived[i].Err(); err != context.Canceled || context.Cause(derived[i]) != context.Canceled {
			t.Fatalf("one derived: %v", err)
		}
		if stops[i]() {
			t.Fatal("an AfterFunc could be stopped")
		}
		wait(t, ended, "AfterFunc")
	}
}

// TestUnaskedContext: nobody watches, and it has ended once a Read has told.
func TestUnaskedContext(t *testing.T) {
	errs := make(chan error, 2)
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		errs <- r.Context().Err()
		_, _ = io.ReadAll(r.Body)
		errs <- r.Context().Err()
		wait(t, r.Context().Done(), "a Done that was over before")
	})
	conn := w.dial().send(put + "Content-Length: 6\r\n\r\nabc")
	if err := wait(t, errs, "the first look"); err != nil {
		t.Errorf("at first: %v", err)
	}
	conn.Close()
	if err := wait(t, errs, "the second look"); err != context.Canceled {
		t.Errorf("then: %v", err)
	}
}
