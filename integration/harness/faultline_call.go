package harness

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// call is one connection over a Line.
type call struct {
	line   *Line
	client *net.TCPConn
	ctx    context.Context
	cancel context.CancelFunc
	lost   atomic.Bool // a black hole has taken something
	ways   [2]*way     // as Line.faults

	mu     sync.Mutex
	server *net.TCPConn // nil while there is none
	dead   bool
}

// way is one direction of a call.
type way struct {
	mu    sync.Mutex
	to    *net.TCPConn
	ended bool
}

func newCall(l *Line, client *net.TCPConn) *call {
	c := &call{line: l, client: client, ways: [2]*way{{}, {to: client}}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// run carries bytes until both directions have ended.
func (c *call) run() {
	defer c.leave()
	if _, hole, _ := c.line.now(0); hole {
		c.vanish(c.client)
		return
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(c.ctx, "tcp", c.line.target)
	if err != nil {
		c.reset()
		return
	}
	server := conn.(*net.TCPConn)
	c.mu.Lock()
	c.server = server
	dead := c.dead
	c.mu.Unlock()
	if dead {
		server.Close()
		return
	}
	c.ways[0].aim(server)
	var both sync.WaitGroup
	both.Go(func() { c.carry(0, c.client) })
	both.Go(func() { c.carry(1, server) })
	both.Wait()
}

func (c *call) leave() {
	c.cancel()
	c.client.Close()
	c.mu.Lock()
	c.dead = true
	if c.server != nil {
		c.server.Close()
	}
	c.mu.Unlock()
	c.line.mu.Lock()
	delete(c.line.calls, c)
	c.line.mu.Unlock()
}

// reset ends both sides as a crash does.
func (c *call) reset() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	for _, conn := range []*net.TCPConn{c.client, c.server} {
		if conn != nil {
			_ = conn.SetLinger(0)
			conn.Close()
		}
	}
}

// carry is direction i, from one side.
func (c *call) carry(i int, from *net.TCPConn) {
	passed := int64(0)
	for buffer := make([]byte, 32<<10); ; {
		f, _, _ := c.line.now(i)
		piece := buffer
		if f.rate > 0 {
			piece = piece[:min(int64(len(piece)), max(f.rate/50, 1))]
		}
		n, err := from.Read(piece)
		f, ok := c.open(i)
		if !ok {
			c.vanish(from)
			return
		}
		if f.rate > 0 {
			f.delay += time.Duration(n) * time.Second / time.Duration(f.rate)
		}
		if !c.pass(f.delay) {
			return
		}
		cut := f.cutAfter >= 0 && passed+int64(n) >= f.cutAfter
		if cut {
			n = int(max(f.cutAfter-passed, 0))
		}
		if n > 0 && !c.ways[i].write(piece[:n]) {
			c.reset()
			return
		}
		passed += int64(n)
		switch {
		case cut:
			c.reset()
			return
		case err == io.EOF:
			c.ways[i].end()
			return
		case err != nil:
			c.reset()
			return
		}
	}
}

// vanish takes what one side sends in a black hole, so that it notices nothing,
// and tells nobody of its end.
func (c *call) vanish(from *net.TCPConn) {
	c.lost.Store(true)
	if _, hole, _ := c.line.now(0); !hole {
		c.reset() // mended, and Mend may not have seen this call
		return
	}
	_, _ = io.Copy(io.Discard, from)
	<-c.ctx.Done()
}

// open waits while direction i is stalled and returns its faults then; or false
// in a black hole, or when the call is over.
func (c *call) open(i int) (fault, bool) {
	for {
		f, hole, changed := c.line.now(i)
		if hole || c.lost.Load() {
			return f, false
		}
		if !f.stalled {
			return f, true
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			return f, false
		}
	}
}

// pass waits, and reports whether the call goes on.
func (c *call) pass(d time.Duration) bool {
	if d <= 0 {
		return c.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

func (w *way) aim(to *net.TCPConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
}

// write reports false when the other side takes no more. What comes after end
// vanishes.
func (w *way) write(b []byte) bool {
	w.mu.Lock()
	to, ended := w.to, w.ended
	w.mu.Unlock()
	if ended {
		return true
	}
	_, err := to.Write(b)
	if err == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended // ended meanwhile: that is no fault of the connection
}

// end ends the direction in order, once.
func (w *way) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended && w.to != nil {
		w.ended = true
		_ = w.to.CloseWrite()
	}
}
