package front

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
)

// ErrMalformed is the error of reading a body that is framed wrongly.
var ErrMalformed = errors.New("malformed chunked body")

// errEnd is the state of a body that has been read.
var errEnd = io.EOF

const (
	// maxChunkLine limits the line before a chunk, and each of the trailer's.
	maxChunkLine = 4 << 10
	// maxTrailer limits the trailer in bytes.
	maxTrailer = 16 << 10
	// maxExcess limits what chunks may cost beside their content: a client that
	// sends a byte in a chunk of its own, with an extension, over and over, uses
	// us more than it should. It is what net/http allows.
	maxExcess = 16 << 10
)

// body is the body of a request. It is read by one goroutine at a time.
type body struct {
	v       *visit
	left    int64 // of the body, or of the chunk
	chunked bool
	begun   bool          // a chunk: its end has to come first
	end     [1]byte       // of that
	excess  int64         // bytes of framing, less what is fair for the content
	expects bool          // the client waits for "100 Continue"
	r       *http.Request // whose Trailer is filled in
	trailer http.Header   // as announced
	err     error         // of all further reads; errEnd: all has been read
}

// Read implements io.Reader. After an error it returns the same error.
func (b *body) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if b.expects {
		b.expects = false
		b.v.c.answer.goOn()
	}
	if b.chunked && b.left == 0 {
		if b.err = b.nextChunk(); b.err != nil {
			return 0, b.err
		}
	}
	n, err = b.v.c.take(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case err != nil:
		b.err = cutShort(err)
	case b.left == 0 && !b.chunked:
		b.err = errEnd
	}
	return n, b.err
}

// Close implements io.Closer. It does nothing.
func (b *body) Close() error { return nil }

// cutShort tells the end of a connection, in the middle of a body, from its end.
func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// take returns some of what the client sends, at least one byte.
func (c *conn) take(p []byte) (int, error) {
	if c.from == c.to {
		if len(p) >= cap(c.in)/2 && len(p) > 512 {
			return c.read(p) // without a copy
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.in[c.from:c.to])
	c.from += n
	return n, nil
}

// nextChunk reads up to the content of the next chunk, or to the end of the body,
// RFC 9112 section 7.1.
func (b *body) nextChunk() error {
	if b.begun {
		for _, want := range "\r\n" {
			if _, err := b.v.c.take(b.end[:]); err != nil {
				return cutShort(err)
			}
			if b.end[0] != byte(want) {
				return fmt.Errorf("%w: a chunk does not end where its size says", ErrMalformed)
			}
		}
	}
	line, err := b.v.c.line(maxChunkLine)
	if err != nil {
		return err
	}
	size, digits := int64(0), 0
	for ; digits < len(line); digits++ {
		d := hexDigit(line[digits])
		if d < 0 {
			break
		}
		if size > math.MaxInt64>>4 {
			return fmt.Errorf("%w: a chunk's size is too large", ErrMalformed)
		}
		size = size<<4 | d
	}
	rest := line[digits:]
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
		rest = rest[1:]
	}
	if digits == 0 || digits > 16 || len(rest) > 0 && rest[0] != ';' {
		return fmt.Errorf("%w: no chunk's size", ErrMalformed)
	}
	// A fair chunk has a byte of framing for two of content, and some for itself.
	b.excess = max(0, b.excess+int64(len(line))+2-16-2*min(size, maxExcess))
	if b.excess > maxExcess {
		return fmt.Errorf("%w: too much framing for its content", ErrMalformed)
	}
	if size == 0 {
		return b.readTrailer()
	}
	b.begun, b.left = true, size
	return nil
}

func hexDigit(c byte) int64 {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0')
	case 'a' <= c && c <= 'f':
		return int64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int64(c-'A') + 10
	}
	return -1
}

// readTrailer reads what comes behind the last chunk. It returns errEnd.
func (b *body) readTrailer() error {
	trailer := head{header: b.trailer}
	for size := 0; ; {
		line, err := b.v.c.line(maxChunkLine)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			break
		}
		if size += len(line); size > maxTrailer {
			return fmt.Errorf("%w: its trailer is too large", ErrMalformed)
		}
		if trailer.header == nil {
			trailer.header = http.Header{}
		}
		if refused := trailer.parseField(string(line)); refused != nil {
			return fmt.Errorf("%w: in its trailer: %s", ErrMalformed, refused.text)
		}
	}
	b.r.Trailer = trailer.header
	return errEnd
}

// line returns the next line, without its CR LF, until something else is read.
// With them it has at most limit bytes; CR and LF apart are no end, and nowhere
// else either.
func (c *conn) line(limit int) ([]byte, error) {
	for seen := 0; ; {
		have := c.in[c.from:c.to]
		have = have[:min(len(have), limit)]
		for ; seen < len(have); seen++ {
			if have[seen] != '\n' {
				continue
			}
			line, ended := bytes.CutSuffix(have[:seen], []byte{'\r'})
			if !ended || bytes.IndexByte(line, '\r') >= 0 {
				return nil, fmt.Errorf("%w: CR and LF are not together", ErrMalformed)
			}
			c.from += seen + 1
			return line, nil
		}
		if len(have) == limit {
			return nil, fmt.Errorf("%w: a line is too long", ErrMalformed)
		}
		if err := c.fill(); err != nil {
			return nil, cutShort(err)
		}
	}
}

// Buffered returns how much of the body can be read without waiting, as far as
// it is known.
func (b *body) Buffered() int64 {
	if b.chunked {
		return 0
	}
	return min(b.left, int64(b.v.c.to-b.v.c.from))
}
