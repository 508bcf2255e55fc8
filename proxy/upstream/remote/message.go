package remote

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// message is a request that is to be sent.
type message struct {
	method  string
	size    int64     // of the body; -1: not known, sent in chunks
	arrive  bool      // the body is still arriving: nothing of it is kept back
	copies  bool      // it has X-Amz-Copy-Source
	end     time.Time // when the exchange ends, if ctx does not; zero: never
	patient bool      // nothing depends on its being cut at once when ctx ends

	buf    *buffer // the head, and what of the body goes out with it
	held   []byte  // more of it, which is in memory already
	filled bool
	body   io.Reader // what is neither in buf nor in held
	left   int64     // bytes of that, or -1
}

// buffer is memory of a message.
type buffer struct{ b []byte }

// buffers holds those not in use, each of about chunk bytes or less.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// inMemory is a body that need not be copied: Bytes is what is left of it, as
// that of a bytes.Buffer, and stays what it is as long as nothing is read.
type inMemory interface{ Bytes() []byte }

// apart is how large a body has to be to be cheaper to send from where it is
// than from behind the head, in bytes.
const apart = 8 << 10

// messages holds those not in use.
var messages = sync.Pool{New: func() any { return new(message) }}

// message returns the request r. Its free must be called.
func (u *Remote) message(r *http.Request, body io.Reader, size int64) (*message, error) {
	m := messages.Get().(*message)
	*m = message{method: r.Method, size: size, body: body, left: size, buf: buffers.Get().(*buffer)}
	m.copies = len(r.Header["X-Amz-Copy-Source"]) > 0
	var err error
	if m.buf.b, err = u.head(m.buf.b[:0], r, size); err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

// free gives m back, of which nothing is sent any more. It may not be used again.
func (m *message) free() {
	m.release()
	*m = message{}
	messages.Put(m)
}

// release gives the memory of a message back that is not being sent. It may be
// called again.
func (m *message) release() {
	if m.buf != nil && cap(m.buf.b) <= 2*chunk {
		buffers.Put(m.buf)
	}
	m.buf, m.held = nil, nil
}

// length is how much fill has made ready, in bytes.
func (m *message) length() int { return len(m.buf.b) + len(m.held) }

// fill makes ready what of a body that has arrived goes out with the head. It
// reads it once, however often it is called.
func (m *message) fill(plain bool) error {
	if m.filled {
		return nil
	}
	m.filled = true
	if m.arrive || m.left <= 0 {
		return nil
	}
	if body, ok := m.body.(inMemory); ok && gathers && plain && m.left > apart {
		held := body.Bytes()
		if int64(len(held)) < m.left {
			return m.short(m.left - int64(len(held)))
		}
		m.held, m.left = held[:m.left], 0
		return nil
	}
	n := int(min(m.left, int64(chunk-len(m.buf.b))))
	if n <= 0 {
		return nil
	}
	head := len(m.buf.b)
	m.buf.b = slices.Grow(m.buf.b, n)
	got, err := io.ReadFull(m.body, m.buf.b[head:head+n])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = m.short(m.size - int64(got))
	}
	m.buf.b = m.buf.b[:head+got]
	m.left -= int64(got)
	return err
}

func (m *message) short(missing int64) error {
	return fmt.Errorf("%w: want %d bytes", io.ErrUnexpectedEOF, missing)
}

// room is in front of a piece for the size of its chunk, and tail behind it.
const (
	room = len("ffffffff\r\n")
	tail = len("\r\n0\r\n\r\n")
)

// next returns the next piece of the body, as it is to be sent, in b. After the
// last one left is 0. With an error nothing more of the body may be sent: the
// store must not take it for complete.
func (m *message) next(b []byte) ([]byte, error) {
	if m.left < 0 {
		return m.nextChunk(b)
	}
	n, err := read(m.body, b[:min(m.left, int64(len(b)))])
	m.left -= int64(n)
	switch {
	case m.left == 0 && m.arrive && err == nil:
		err = m.atEnd()
	case m.left == 0 && (err == io.EOF || !m.arrive):
		err = nil
	case err == io.EOF:
		err = m.short(m.left)
	}
	return b[:n], err
}

// nextChunk is next for a body in chunks, RFC 9112 section 7.1.
func (m *message) nextChunk(b []byte) ([]byte, error) {
	n, err := read(m.body, b[room:len(b)-tail])
	if err != nil && err != io.EOF {
		return nil, err
	}
	start, end := room, room+n
	if n > 0 {
		size := strconv.AppendInt(make([]byte, 0, room), int64(n), 16)
		size = append(size, "\r\n"...)
		start -= len(size)
		copy(b[start:], size)
		end += copy(b[end:], "\r\n")
	}
	if err == io.EOF {
		end += copy(b[end:], "0\r\n\r\n")
		m.left = 0
	}
	return b[start:end], nil
}

// atEnd checks that a body which is still arriving ends well after its last
// byte.
func (m *message) atEnd() error {
	var more [1]byte
	n, err := read(m.body, more[:])
	switch {
	case err == io.EOF && n == 0:
		return nil
	case n > 0:
		return fmt.Errorf("it has more than %d bytes", m.size)
	}
	return err
}

// read is r.Read that makes progress.
func read(r io.Reader, b []byte) (int, error) {
	for range 100 {
		if n, err := r.Read(b); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
