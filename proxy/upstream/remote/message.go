package remote

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// message is a request that is to be sent.
type message struct {
	method string
	size   int64 // of the body; -1: not known, sent in chunks
	arrive bool  // the body is still arriving: nothing of it is kept back

	buf    *bytes.Buffer // the head, and what of the body goes out with it
	filled bool
	body   io.Reader // what is not in buf
	left   int64     // bytes of that, or -1
}

// buffers holds those of messages, each of about chunk bytes or less.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// message returns the request r. Its release must be called.
func (u *Remote) message(r *http.Request, body io.Reader, size int64) (*message, error) {
	m := &message{method: r.Method, size: size, body: body, left: size, buf: buffers.Get().(*bytes.Buffer)}
	m.buf.Reset()
	if err := u.head(m.buf, r, size); err != nil {
		m.release()
		return nil, err
	}
	return m, nil
}

// release gives the memory of a message back that is not being sent. It may be
// called again.
func (m *message) release() {
	if m.buf != nil && m.buf.Cap() <= 2*chunk {
		buffers.Put(m.buf)
	}
	m.buf = nil
}

// fill reads what of a body that has arrived goes out with the head. It reads
// it once, however often it is called.
func (m *message) fill() error {
	if m.filled {
		return nil
	}
	m.filled = true
	n := min(m.left, int64(chunk-m.buf.Len()))
	if m.arrive || n <= 0 {
		return nil
	}
	m.buf.Grow(int(n))
	b := m.buf.AvailableBuffer()[:n]
	got, err := io.ReadFull(m.body, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = m.short(m.size - int64(got))
	}
	m.buf.Write(b[:got])
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
