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
	_, err := io.CopyN(w, src, size)
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
