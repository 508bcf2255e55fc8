package remote

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/fence"
)

// Once Write has returned, the store must not get the rest of the body as if
// nothing had happened.
func TestContextEndsInTheBody(t *testing.T) {
	newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
		ctx, cancel := context.WithCancelCause(t.Context())
		tired := errors.New("tired of waiting")
		_, u := serve(t, Options{}, func(p *peer) {
			p.head()
			p.body(1 << 20)
			cancel(tired)
			p.wasReset()
		})
		got := attempt(t, u, ctx, request("PUT", "/a"), strings.NewReader(large), int64(len(large)))
		if got.res != nil || got.outcome != fence.Uncertain || !errors.Is(got.err, tired) {
			t.Error(got)
		}
	})
}

// The store has the whole request and never answers.
func TestContextEndsAfterTheBody(t *testing.T) {
	newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
		ctx, cancel := context.WithCancel(t.Context())
		_, u := serve(t, Options{}, func(p *peer) {
			p.request()
			cancel()
			p.wasReset()
		})
		got := attempt(t, u, ctx, request("PUT", "/a"), strings.NewReader("body"), 4)
		if got.res != nil || got.outcome != fence.Uncertain || !errors.Is(got.err, context.Canceled) {
			t.Error(got)
		}
	})
}

func TestDeadlineInTheAnswer(t *testing.T) {
	for name, said := range map[string]string{
		"head": "HTTP/1.1 201 Crea", "body": "HTTP/1.1 201 Created\r\nContent-Length: 40\r\n\r\ndone",
		"100": "HTTP/1.1 100 Continue\r\n\r\n", "trailer": "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: 1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
				ctx, cancel := context.WithCancelCause(t.Context())
				_, u := serve(t, Options{}, func(p *peer) {
					p.request()
					p.say(said)
					cancel(context.DeadlineExceeded)
					p.wasReset()
				})
				got := attempt(t, u, ctx, request("MOVE", "/a"), strings.NewReader(""), 0)
				if got.res != nil || got.outcome != fence.Uncertain || !errors.Is(got.err, context.DeadlineExceeded) {
					t.Error(got)
				}
			})
		})
	}
}

// A store that takes nothing in and says nothing holds nobody longer than his
// context.
func TestDeadlineBeforeAnythingIsRead(t *testing.T) {
	for _, size := range []int{4, chunk, len(large)} {
		newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
			over := make(chan struct{})
			_, u := serve(t, Options{}, func(p *peer) { <-over })
			ctx, cancel := context.WithCancelCause(t.Context())
			before := u.sentBytes()
			go func() {
				for u.sentBytes() == before { // nothing tells of it
					time.Sleep(time.Millisecond)
				}
				cancel(context.DeadlineExceeded)
			}()
			got := attempt(t, u, ctx, request("PUT", "/a"), strings.NewReader(large), int64(size))
			close(over)
			if got.res != nil || got.outcome != fence.Uncertain || !errors.Is(got.err, context.DeadlineExceeded) {
				t.Error(got)
			}
		})
	}
}

// sentBytes is what the kernel has taken on connections that are open.
func (u *Remote) sentBytes() (n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.pool.all {
		n += c.socket.count()
	}
	return n
}

// What ends a request after its answer does not touch the connection any more.
func TestContextEndsAfterTheAnswer(t *testing.T) {
	s := newStore(t, func(p *peer) {
		for {
			p.request()
			p.say("HTTP/1.1 201 Created\r\n" + whole)
		}
	})
	u := open(t, s.url(), Options{Idle: time.Minute})
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		got := attempt(t, u, ctx, request("PUT", "/a"), strings.NewReader("body"), 4)
		cancel()
		if got.outcome != fence.Definite {
			t.Error(got)
		}
	}
}

// Close cuts a write in progress and waits until it is over.
func TestClose(t *testing.T) {
	arrived, cut := make(chan struct{}), make(chan struct{})
	s := newStore(t, func(p *peer) {
		p.head()
		p.wasReset()
		close(cut)
	})
	u := open(t, s.url(), Options{})
	var over atomic.Bool
	body := io.MultiReader(strings.NewReader(large[:chunk]), readerFunc(func([]byte) (int, error) {
		close(arrived)
		<-cut
		over.Store(true)
		return 0, io.EOF
	}))
	results := make(chan result, 1)
	go func() {
		res, outcome, err := u.Write(context.Background(), request("PUT", "/a"), body, chunk+1)
		results <- result{res: res, outcome: outcome, err: err}
	}()
	<-arrived
	if err := u.Close(); err != nil {
		t.Error(err)
	}
	if !over.Load() {
		t.Error("Close returned before the write was over")
	}
	if got := <-results; got.res != nil || got.outcome != fence.Uncertain || !errors.Is(got.err, ErrClosed) {
		t.Errorf("a write during Close: %v", got)
	}
	if got := u.try(t, request("PUT", "/a"), "body"); got.outcome != fence.NotSent || !errors.Is(got.err, ErrClosed) {
		t.Errorf("a write after Close: %v", got)
	}
	if outcome, err := u.Read(unwritten{t}, request("GET", "/a")); outcome != fence.NotSent || !errors.Is(err, ErrClosed) {
		t.Errorf("a read after Close: %v %v", outcome, err)
	}
	if err := u.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}
