//go:build unix

package remote

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

// The poller knows only the first of many ends. What it ends too early goes on,
// and what has no time left does not.
func TestEndsOfKeptConnections(t *testing.T) {
	schemes(t, func(t *testing.T, by scheme) {
		const moment = 50 * time.Millisecond
		s := by.listen(t, func(p *peer) {
			for {
				head, _ := p.request()
				switch {
				case strings.Contains(head, "/slow "):
					time.Sleep(3 * moment) // the end of the request before has to pass
				case strings.Contains(head, "/never "):
					p.rest()
					return
				}
				p.say("HTTP/1.1 201 Created\r\n" + whole)
			}
		})
		u := by.open(t, s, Options{Idle: time.Minute})
		put := func(path string, in time.Duration) result {
			ctx := &byDeadline{context.Background(), time.Now().Add(in)}
			return attempt(t, u, ctx, request("PUT", path), strings.NewReader("body"), 4)
		}
		for _, c := range []struct {
			path string
			in   time.Duration
		}{{"/quick", time.Minute}, {"/quick", moment}, {"/slow", time.Minute}, {"/quick", time.Minute}} {
			if got := put(c.path, c.in); got.outcome != fence.Definite {
				t.Fatalf("%s within %v: %v", c.path, c.in, got)
			}
		}
		c := u.pool.idle[0]
		c.socket.until(time.Now().Add(-time.Second), false) // while it was unused
		if got := put("/quick", time.Minute); got.outcome != fence.Definite {
			t.Fatalf("after an end in the past: %v", got)
		}
		start := time.Now()
		got := put("/never", 2*moment)
		if took := time.Since(start); took < 2*moment || got.outcome != fence.Uncertain || !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("ended after %v: %v", took, got)
		}
	})
}

// The end also comes to a write that the store does not take, after one that had
// more time.
func TestEndOfAWriteThatIsNotTaken(t *testing.T) {
	over := make(chan struct{})
	s := newStore(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 204 Done\r\n\r\n")
		<-over
	})
	u := open(t, s.url(), Options{Idle: time.Minute})
	u.warm(t)
	c := u.pool.idle[0]
	c.socket.until(time.Now().Add(10*time.Millisecond), false) // the poller knows this one
	end := time.Now().Add(100 * time.Millisecond)
	ctx := &byDeadline{context.Background(), end}
	got := attempt(t, u, ctx, request("PUT", "/a"), strings.NewReader(large), int64(len(large)))
	close(over)
	if time.Now().Before(end) || got.outcome != fence.Uncertain || !errors.Is(got.err, context.DeadlineExceeded) {
		t.Errorf("%v before the end: %v", time.Until(end), got)
	}
}

// A read whose client leaves is cut, though its context is looked at late.
func TestReadEndsWithItsClient(t *testing.T) {
	for name, said := range map[string]string{"before the head": "", "in the head": "HTTP/1.1 200 OK\r\n", "in the body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndone"} {
		t.Run(name, func(t *testing.T) {
			newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
				ctx, cancel := context.WithCancelCause(t.Context())
				gone := errors.New("the client left")
				_, u := serve(t, Options{}, func(p *peer) {
					p.request()
					p.say(said)
					cancel(gone)
					p.wasReset()
				})
				w := httptest.NewRecorder()
				if _, err := u.Read(w, request("GET", "/a").WithContext(ctx)); !errors.Is(err, gone) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// countingContext knows how often somebody wanted to be told of its end.
type countingContext struct {
	context.Context
	asked int
}

func (c *countingContext) Done() <-chan struct{} {
	c.asked++
	return c.Context.Done()
}

// A read that is answered at once never asks for the end of its client, which
// may be dear.
func TestQuickReadsDoNotWatch(t *testing.T) {
	s := newStore(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 204 Done\r\n\r\n")
		echo(p)
	})
	u := open(t, s.url(), Options{Idle: time.Minute})
	u.warm(t)
	quick := 0
	for range 100 {
		ctx := &countingContext{Context: t.Context()}
		start := time.Now()
		if outcome, err := u.Read(httptest.NewRecorder(), request(http.MethodGet, "/a").WithContext(ctx)); outcome != fence.Definite || err != nil {
			t.Fatal(outcome, err)
		}
		if time.Since(start) >= soon {
			continue // the machine is busy
		}
		if quick++; ctx.asked > 0 {
			t.Fatal("the context was asked for its end")
		}
	}
	if quick == 0 {
		t.Errorf("no read took less than %v", soon)
	}
}

// An end that the poller tells of before its time is no error.
func TestAgain(t *testing.T) {
	s := newStore(t, func(p *peer) { p.rest() })
	u := open(t, s.url(), Options{})
	c, err := u.connect(t.Context(), &message{patient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer u.drop(c)
	now := time.Now()
	for _, step := range []struct {
		end   time.Time
		err   error
		again bool
	}{
		{now.Add(time.Minute), os.ErrDeadlineExceeded, true},
		{time.Time{}, os.ErrDeadlineExceeded, true},
		{now.Add(-time.Second), os.ErrDeadlineExceeded, false},
		{now.Add(time.Minute), nil, false},
		{now.Add(time.Minute), os.ErrClosed, false},
	} {
		c.socket.until(step.end, false)
		if got := c.socket.again(step.err, true); got != step.again {
			t.Errorf("%v, %v before the end: again is %v", step.err, time.Until(step.end), got)
		}
	}
}
