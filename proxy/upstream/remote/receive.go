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

// receive returns the next answer. An informational one (below 200) is none
// yet.
func (c *conn) receive(method string) (*http.Response, error) {
	if len(c.in.held()) == 0 {
		if err := c.in.fill(); err != nil {
			return nil, noAnswer(err)
		}
	}
	var received int64
	c.answered, _, received = c.socket.progress()
	if c.secure == nil {
		c.start = received - int64(len(c.in.held()))
	}
	if a := c.receiveSimple(method); a != nil {
		c.headLeft = -1
		c.keeps = a.keeps
		return &a.Response, nil
	}
	res, err := c.receiveOne(method)
	switch {
	case err != nil:
		return nil, noAnswer(err)
	case res.StatusCode == http.StatusSwitchingProtocols:
		return nil, errors.New("the store switched protocols without being asked to")
	case res.StatusCode < 100:
		return nil, fmt.Errorf("the store answered with the status %03d", res.StatusCode)
	case res.StatusCode < 200:
		c.seen.interim = true
		c.loose = c.secure != nil
	default:
		c.headLeft = -1
		c.keeps = res.ProtoMinor == 1 && !res.Close && c.seen.plain(res)
		trim(res.Header)
	}
	return res, nil
}

// receiveOne returns an answer, informational or not.
func (c *conn) receiveOne(method string) (*http.Response, error) {
	if err := c.receiveHead(); err != nil {
		return nil, err
	}
	c.unread = c.head
	if c.result == nil {
		c.result = bufio.NewReader(answerText{c})
	}
	c.result.Reset(answerText{c})
	c.asked.Method = method
	res, err := http.ReadResponse(c.result, &c.asked)
	if err != nil {
		return nil, err
	}
	res.Request = nil // ours, and soon another one
	if res.ProtoMajor != 1 || res.ProtoMinor > 1 {
		// In another version, where the answer ends and what it means are not
		// known.
		return nil, fmt.Errorf("the answer is %q, not HTTP/1.1 or 1.0", res.Proto)
	}
	if c.seen.connections > 0 && res.Header["Connection"] == nil {
		// ReadResponse drops Connection if there is "close" in it, and so which
		// headers it names besides.
		again := textproto.NewReader(bufio.NewReader(bytes.NewReader(c.head)))
		if _, err := again.ReadLine(); err != nil {
			return nil, err
		}
		lines, err := again.ReadMIMEHeader()
		if err != nil {
			return nil, err
		}
		res.Header["Connection"] = lines["Connection"]
	}
	return res, nil
}

// receiveHead reads the head of an answer, with the empty line.
func (c *conn) receiveHead() error {
	c.head, c.seen = c.head[:0], framing{interim: c.seen.interim}
	for start := 0; ; {
		part, err := c.in.line()
		c.head = append(c.head, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return err
		}
		line := c.head[start:]
		if len(line) == 1 || len(line) == 2 && line[0] == '\r' {
			return nil
		}
		c.seen.note(line)
		start = len(c.head)
	}
}

// answerText is the head that has been read and then what follows it.
type answerText struct{ c *conn }

func (a answerText) Read(b []byte) (int, error) {
	if len(a.c.unread) > 0 {
		n := copy(b, a.c.unread)
		a.c.unread = a.c.unread[n:]
		return n, nil
	}
	return a.c.in.Read(b)
}

// pending is how much of an answer has arrived but was not yet read, at least.
func (c *conn) pending() int {
	n := len(c.unread) + len(c.in.held())
	if c.result != nil {
		n += c.result.Buffered()
	}
	return n
}

// noAnswer says what an error means before an answer.
func noAnswer(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // an end is none where an answer is due
	}
	return fmt.Errorf("no answer: %w", err)
}
