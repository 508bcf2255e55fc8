package front

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// TestManyConnections: random requests, cut into random packets, some of which
// are given up in the middle, at handlers that use the context and the body in
// random ways. No byte is lost or another's, no context ends that should not or
// lasts longer than it should, and nobody stays behind.
func TestManyConnections(t *testing.T) {
	rounds := harness.Scale(300)
	var late sync.WaitGroup // who waits for a context longer than the handler
	h := &careful{t: t, late: &late}
	w := serve(t, h.serve)
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for range rounds {
				h.visit(w, rnd)
			}
		})
	}
	clients.Wait()
	late.Wait()
	if h.whole.Load() == 0 || h.left.Load() == 0 {
		t.Errorf("%d whole requests and %d that were given up: not both have been tried", h.whole.Load(), h.left.Load())
	}
}

// careful is the handler, and its clients.
type careful struct {
	t           *testing.T
	late        *sync.WaitGroup
	whole, left atomic.Int64
}

// visit is one connection, with a few requests.
func (h *careful) visit(w *world, rnd *rand.Rand) {
	conn := w.dial()
	defer conn.Close()
	for n := range 1 + rnd.IntN(5) {
		body := make([]byte, []int{0, 1, 100, 5000, 70000}[rnd.IntN(5)])
		for i := range body {
			body[i] = byte(rnd.Uint32())
		}
		id := fmt.Sprintf("%d-%x", n, rnd.Uint64())
		var text bytes.Buffer
		fmt.Fprintf(&text, "PUT /%d HTTP/1.1\r\nHost: h\r\nId: %s\r\nSum: %d\r\n", rnd.IntN(16), id, crc32.ChecksumIEEE(body))
		if rnd.IntN(2) == 0 {
			fmt.Fprintf(&text, "Content-Length: %d\r\n\r\n%s", len(body), body)
		} else {
			text.WriteString("Transfer-Encoding: chunked\r\n\r\n")
			for rest := body; len(rest) > 0; {
				size := 1 + rnd.IntN(len(rest))
				fmt.Fprintf(&text, "%x\r\n%s\r\n", size, rest[:size])
				rest = rest[size:]
			}
			text.WriteString("0\r\n\r\n")
		}
		give := -1
		if rnd.IntN(4) == 0 {
			give = rnd.IntN(text.Len())
		}
		for sent := 0; text.Len() > 0; {
			piece := text.Next(1 + rnd.IntN(1+text.Len()))
			if give >= 0 && sent+len(piece) > give {
				h.left.Add(1)
				if rnd.IntN(2) == 0 {
					_ = conn.Conn.(*net.TCPConn).SetLinger(0)
				}
				return
			}
			if _, err := conn.Write(piece); err != nil {
				h.t.Errorf("sending: %v", err)
				return
			}
			sent += len(piece)
		}
		if rnd.IntN(8) == 0 {
			h.left.Add(1)
			return // before the answer
		}
		res, err := http.ReadResponse(conn.in, nil)
		if err != nil {
			h.t.Errorf("no answer: %v", err)
			return
		}
		if got, err := io.ReadAll(res.Body); err != nil || string(got) != id || res.StatusCode != 200 {
			h.t.Errorf("answered %d %q, %v, want %s", res.StatusCode, got, err, id)
			return
		}
		h.whole.Add(1)
		if res.Close {
			h.t.Error("it ends the connection")
			return
		}
	}
}

func (h *careful) serve(w http.ResponseWriter, r *http.Request) {
	id := strings.Clone(r.Header.Get("Id"))
	how := r.URL.Path[1:]
	ctx := r.Context()
	var ended <-chan struct{}
	switch how[len(how)-1] % 8 {
	case 0:
		ended = ctx.Done()
	case 1:
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		ended = inner.Done()
	case 2:
		inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
		defer cancel()
		ended = inner.Done()
	case 3:
		over := make(chan struct{})
		context.AfterFunc(ctx, func() { close(over) })
		ended = over
		h.late.Go(func() { wait(h.t, over, "AfterFunc") })
	case 4:
		h.late.Go(func() { wait(h.t, ctx.Done(), "the end of a context") })
		ended = ctx.Done()
	case 5:
		_ = w.(*answer).SetReadDeadline(time.Now().Add(time.Hour))
	}
	sum := crc32.NewIEEE()
	read := func() error {
		_, err := io.CopyBuffer(sum, struct{ io.Reader }{r.Body}, make([]byte, 3000))
		return err
	}
	var err error
	if how[0]%2 == 0 {
		result := make(chan error, 1)
		go func() { result <- read() }()
		ctx.Done()
		err = <-result
	} else {
		err = read()
	}
	if err != nil {
		if ended != nil && how[len(how)-1]%8 != 2 {
			wait(h.t, ended, "the end of a context whose client has left")
		}
		panic(http.ErrAbortHandler)
	}
	if got := r.Header.Get("Id"); got != id {
		h.t.Errorf("the header has changed: %s, was %s", got, id)
	}
	if want := r.Header.Get("Sum"); fmt.Sprint(sum.Sum32()) != want {
		h.t.Errorf("another body came: its sum is %d, want %s", sum.Sum32(), want)
	}
	if ended != nil {
		select {
		case <-ended:
			if ctx.Err() == nil {
				h.t.Error("a context has ended too early")
			}
		default:
		}
	}
	_, _ = io.WriteString(w, id)
}
