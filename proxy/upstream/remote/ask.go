package remote

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
)

// ask sends a request and returns its final answer, the body of which is still
// to be read from the connection. It does not wait until all is sent: storage
// may answer early. Called once; body must not be used before end has returned.
func (c *conn) ask(method string, head []byte, body io.Reader, size int64) (*http.Response, error) {
	c.body = body
	go func() {
		defer close(c.sent)
		c.sendErr = c.send(head, body, size)
	}()
	return c.receive(method)
}

// send writes the request.
func (c *conn) send(head []byte, body io.Reader, size int64) error {
	w := bufio.NewWriterSize(c.text, chunk)
	if _, err := w.Write(head); err != nil {
		return err
	}
	src := &source{r: body}
	var err error
	if size < 0 {
		err = inChunks(w, src)
	} else if _, stops := body.(stoppable); stops {
		err = asItComes(w, src, size)
	} else {
		_, err = io.CopyN(w, src, size)
	}
	if err == io.EOF {
		src.err = fmt.Errorf("%w: want %d bytes", io.ErrUnexpectedEOF, size)
	}
	if src.err != nil {
		c.socket.cut() // the store waits for what will not come, and we for it
		return fmt.Errorf("the body to send: %w", src.err)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// source tells the errors of reading a body from those of sending it.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// asItComes sends size bytes and keeps none back while it waits for more.
func asItComes(w *bufio.Writer, body io.Reader, size int64) error {
	b := make([]byte, chunk)
	for size > 0 {
		if err := w.Flush(); err != nil {
			return err
		}
		n, err := body.Read(b[:min(size, chunk)])
		size -= int64(n)
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		if err != nil && size > 0 {
			return err
		}
	}
	return nil
}

// inChunks sends all of a body in chunks (RFC 9112 section 7.1), as they come.
func inChunks(w *bufio.Writer, body io.Reader) error {
	b := make([]byte, chunk)
	for {
		if err := w.Flush(); err != nil {
			return err
		}
		n, err := body.Read(b)
		if n > 0 {
			fmt.Fprintf(w, "%x\r\n%s\r\n", n, b[:n]) // a bufio.Writer keeps its error
		}
		if err == io.EOF {
			_, err = w.WriteString("0\r\n\r\n")
			return err
		}
		if err != nil {
			return err
		}
	}
}
