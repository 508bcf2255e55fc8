package remote

import (
	"bufio"
	"bytes"
	"io"
)

// inputSize is how much of what arrives is read at once, in bytes: more than the
// head of most answers has.
const inputSize = 4 << 10

// input holds what has arrived on a connection and was not yet taken.
type input struct {
	from io.Reader
	buf  []byte
	r, w int   // what is held is buf[r:w]
	err  error // comes after it
}

func newInput(from io.Reader) *input { return &input{from: from, buf: make([]byte, inputSize)} }

func (in *input) held() []byte { return in.buf[in.r:in.w] }

// room is where more can be read to, and add says what was. Nothing may be held.
func (in *input) room() []byte {
	in.r, in.w = 0, 0
	return in.buf
}

func (in *input) add(n int, err error) { in.w, in.err = in.w+n, err }

// fail returns the error that comes after what is held. It is told once.
func (in *input) fail() error {
	err := in.err
	in.err = nil
	return err
}

// fill waits until there is more. If there is no room for that, the error is
// bufio.ErrBufferFull.
func (in *input) fill() error {
	if in.err != nil {
		return in.fail()
	}
	if in.r > 0 {
		in.w = copy(in.buf, in.held())
		in.r = 0
	}
	if in.w == len(in.buf) {
		return bufio.ErrBufferFull
	}
	n, err := read(in.from, in.buf[in.w:])
	in.add(n, err)
	if n == 0 {
		return in.fail()
	}
	return nil
}

// line takes a line with its end, or as much of one as there is room for, with
// bufio.ErrBufferFull. It is valid until more is read.
func (in *input) line() ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(in.held()[seen:], '\n'); i >= 0 {
			return in.take(seen + i + 1), nil
		}
		seen = in.w - in.r
		if err := in.fill(); err != nil {
			return in.take(seen), err
		}
	}
}

// take takes n of the bytes held.
func (in *input) take(n int) []byte {
	b := in.buf[in.r : in.r+n]
	in.r += n
	return b
}

// Read implements io.Reader.
func (in *input) Read(b []byte) (int, error) {
	if in.r == in.w {
		if in.err != nil {
			return 0, in.fail()
		}
		if len(b) >= len(in.buf) {
			return in.from.Read(b)
		}
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, in.held())
	in.r += n
	return n, nil
}
