package front

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a connection of a client. But for its deadlines it is used by one
// goroutine at a time.
type conn struct {
	server *Server
	socket net.Conn
	raw    syscall.RawConn // nil: the socket has none
	remote string
	state  atomic.Int32
	first  bool // it has not had a request yet

	readBy, writeBy deadline

	in     []byte // what has come; from:to has not been used
	from   int
	to     int
	pooled *[]byte // which in is of; nil: in is larger, or there is none
	op     reading

	writing writing

	head   head
	visit  *visit // of the request in progress
	spare  *visit // for the next one
	answer answer
}

// The states of a connection, as far as it matters to those who stop it.
const (
	active int32 = iota
	idle         // it waits for a request of which nothing has come
	closed       // while it was idle
)

func newConn(s *Server, accepted net.Conn) *conn {
	c := &conn{server: s, socket: accepted, remote: accepted.RemoteAddr().String(), first: true}
	if sc, ok := accepted.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			c.raw = raw
		}
	}
	c.readBy.set, c.writeBy.set = accepted.SetReadDeadline, accepted.SetWriteDeadline
	c.op.once, c.writing.all = c.readOnce, c.writeAllOf
	c.answer.c = c
	c.answer.header = http.Header{}
	c.head.header = http.Header{}
	keepUnsentSmall(accepted)
	return c
}

// cut ends the connection at once.
func (c *conn) cut() { c.socket.Close() }

// closeIdle ends the connection if no request is in progress.
func (c *conn) closeIdle() {
	if c.state.CompareAndSwap(idle, closed) {
		c.socket.Close()
	}
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	defer c.leave()
	wait := c.server.HeadTimeout
	for c.await(wait) {
		r := c.request()
		if r == nil || !c.handle(r) {
			return
		}
		wait = c.server.IdleTimeout
	}
}

// leave ends a connection, also one whose handler has panicked: for
// http.ErrAbortHandler, which is how handlers end it, or by mistake.
func (c *conn) leave() {
	if p := recover(); p != nil && p != http.ErrAbortHandler {
		c.server.Log.Error("a request failed", "panic", fmt.Sprint(p), "remote", c.remote, "stack", string(debug.Stack()))
	}
	if c.visit != nil {
		c.visit.end()
	}
	if !c.answer.hijacked {
		c.socket.Close()
	}
	c.answer.free()
	c.freeInput()
	c.server.leave(c)
}

// await waits for the first byte of a request.
func (c *conn) await(wait time.Duration) bool {
	if c.from < c.to {
		return true
	}
	c.freeInput()
	_ = c.readBy.want(time.Now().Add(wait))
	if !c.state.CompareAndSwap(active, idle) {
		return false
	}
	if c.server.stopping.Load() { // it may not have seen us idle
		return false
	}
	err := c.fill()
	return err == nil && c.state.CompareAndSwap(idle, active)
}

// handle has one request answered, and reports whether the connection can have
// another one.
func (c *conn) handle(r *http.Request) bool {
	c.server.Handler.ServeHTTP(&c.answer, r)
	if c.answer.hijacked {
		return false
	}
	kept := c.answer.finish()
	sending := c.visit.body.err != errEnd || c.from < c.to
	if c.visit.end() && kept {
		c.visit.forget()
		c.spare = c.visit
	}
	c.visit = nil
	if !kept && sending && c.answer.err == nil {
		c.linger()
	}
	c.head.reset()
	c.answer.reset()
	_ = c.writeBy.want(time.Time{}) // it was for this answer
	return kept
}

// buffers are for what comes: most requests fit whole. A connection that waits
// has none.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 8<<10)
	return &b
}}

func (c *conn) takeInput() {
	c.pooled = buffers.Get().(*[]byte)
	c.in, c.from, c.to = *c.pooled, 0, 0
}

func (c *conn) freeInput() {
	if c.pooled != nil {
		buffers.Put(c.pooled)
	}
	c.in, c.pooled, c.from, c.to = nil, nil, 0, 0
}

// fill reads once into what is free of in, behind what was not used, and returns
// an error if nothing comes.
func (c *conn) fill() error {
	if c.in != nil && c.from == c.to {
		c.from, c.to = 0, 0
	}
	if c.to == len(c.in) && c.in != nil {
		copy(c.in, c.in[c.from:c.to])
		c.from, c.to = 0, c.to-c.from
	}
	var free []byte // nil: a buffer is taken when something comes
	if c.in != nil {
		free = c.in[c.to:]
	}
	n, err := c.read(free)
	c.to += n
	return err
}

// read reads once from the socket. An error comes alone.
func (c *conn) read(b []byte) (n int, err error) {
	if c.visit != nil {
		c.visit.beforeRead()
		defer func() { c.visit.afterRead(err) }()
	}
	c.readBy.begin()
	defer c.readBy.end()
	for {
		if c.raw != nil {
			n, err = c.readRaw(b)
		} else {
			n, err = c.readPlain(b)
		}
		if err == nil || !c.readBy.early(err) {
			return n, err
		}
	}
}

func (c *conn) readPlain(b []byte) (int, error) {
	if b == nil {
		if c.in == nil {
			c.takeInput()
		}
		b = c.in
	}
	n, err := c.socket.Read(b)
	if n > 0 {
		return n, nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return 0, err
}

// write sends b whole.
func (c *conn) write(b []byte) error {
	c.writeBy.begin()
	defer c.writeBy.end()
	for {
		var n int
		var err error
		if c.raw != nil {
			n, err = c.writeRaw(b)
		} else {
			n, err = c.socket.Write(b)
		}
		if err == nil || !c.writeBy.early(err) {
			return err
		}
		b = b[n:]
	}
}

// writeAll sends two pieces at once.
func (c *conn) writeAll(pieces net.Buffers) error {
	c.writeBy.begin()
	defer c.writeBy.end()
	for {
		_, err := pieces.WriteTo(c.socket) // which drops what it has sent
		if err == nil || !c.writeBy.early(err) {
			return err
		}
	}
}

// sendFile sends from a file, by sendfile(2) where the socket knows it.
func (c *conn) sendFile(file *os.File, limit int64) (n int64, err error) {
	src := &io.LimitedReader{R: file, N: limit}
	to, ok := c.socket.(io.ReaderFrom)
	if !ok {
		return io.Copy(sending{c}, src)
	}
	c.writeBy.begin()
	defer c.writeBy.end()
	for {
		m, err := to.ReadFrom(src)
		n += m
		if err == nil || !c.writeBy.early(err) {
			return n, err
		}
		// Of a file that sendfile(2) does not take more may have been read than
		// was sent.
		if ahead := limit - src.N - n; ahead > 0 {
			if _, err := file.Seek(-ahead, io.SeekCurrent); err != nil {
				return n, err
			}
			src.N += ahead
		}
	}
}

// sending is the connection as a writer.
type sending struct{ c *conn }

func (s sending) Write(b []byte) (int, error) {
	if err := s.c.write(b); err != nil {
		return 0, err // how much of it went does not matter any more
	}
	return len(b), nil
}

// buffered returns the connection for a handler that takes it over, with what
// has come.
func (c *conn) buffered() *bufio.ReadWriter {
	r := io.MultiReader(bytes.NewReader(bytes.Clone(c.in[c.from:c.to])), c.socket)
	return bufio.NewReadWriter(bufio.NewReader(r), bufio.NewWriter(c.socket))
}
