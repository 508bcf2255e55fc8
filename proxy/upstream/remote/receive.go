package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
)

// receive returns the final answer.
func (c *conn) receive(method string) (*http.Response, error) {
	for {
		if _, err := c.in.Peek(1); err != nil {
			return nil, noAnswer(err)
		}
		c.answered = c.socket.count()
		res, err := c.receiveOne(method)
		switch {
		case err != nil:
			return nil, noAnswer(err)
		case res.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("the store switched protocols without being asked to")
		case res.StatusCode < 100:
			return nil, fmt.Errorf("the store answered with the status %03d", res.StatusCode)
		case res.StatusCode >= 200:
			c.headLeft = -1
			return res, nil
		}
	}
}

// receiveOne returns an answer, informational or not.
func (c *conn) receiveOne(method string) (*http.Response, error) {
	var head []byte
	for line := ""; line != "\n" && line != "\r\n"; {
		var err error
		if line, err = c.in.ReadString('\n'); err != nil {
			return nil, err
		}
		head = append(head, line...)
	}
	c.result = bufio.NewReader(io.MultiReader(bytes.NewReader(head), c.in))
	res, err := http.ReadResponse(c.result, &http.Request{Method: method})
	if err != nil {
		return nil, err
	}
	if res.ProtoMajor != 1 || res.ProtoMinor > 1 {
		// In another version, where the answer ends and what it means are not
		// known.
		return nil, fmt.Errorf("the answer is %q, not HTTP/1.1 or 1.0", res.Proto)
	}
	// ReadResponse drops a Connection line with "close" in it, and so which
	// headers it names besides.
	again := textproto.NewReader(bufio.NewReader(bytes.NewReader(head)))
	if _, err := again.ReadLine(); err != nil {
		return nil, err
	}
	lines, err := again.ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	if named := lines["Connection"]; named != nil {
		res.Header["Connection"] = named
	}
	return res, nil
}

// pending is how much of an answer's body has arrived but was not yet read, at
// least.
func (c *conn) pending() int { return c.result.Buffered() + c.in.Buffered() }

// noAnswer says what an error means before an answer.
func noAnswer(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // an end is none where an answer is due
	}
	return fmt.Errorf("no answer: %w", err)
}
