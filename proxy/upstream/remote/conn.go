package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
)

const (
	// maxHead limits the head of an answer, with all informational ones, in
	// bytes.
	maxHead = 1 << 20
	// chunk is how much of a request is handed to the kernel at once.
	chunk = 64 << 10
)

// conn is a connection to the store for one request and its answer.
type conn struct {
	socket *socket
	text   net.Conn // the socket or TLS on it
	before int64    // bytes on the socket before the request: TLS
	unbind func() bool

	in       *bufio.Reader // of arrivals
	result   *bufio.Reader // of in, after the head of an answer
	headLeft int64         // of maxHead; < 0: the head has been read
	answered int64         // the socket's count when the final answer began

	body    io.Reader     // being sent
	sent    chan struct{} // closed when nothing more is sent
	sendErr error         // readable after sent
}

// dial connects. The connection is cut when ctx ends. With an error nothing of
// a request has been sent.
func (u *Remote) dial(ctx context.Context) (*conn, error) {
	dialing, cancel := context.WithTimeoutCause(ctx, u.opts.DialTimeout, fmt.Errorf("no connection after %v: %w", u.opts.DialTimeout, context.DeadlineExceeded))
	defer cancel()
	tcp, err := u.dialer.DialContext(dialing, "tcp", u.addr)
	if err != nil {
		return nil, u.explain(dialing, err)
	}
	s := newSocket(tcp.(*net.TCPConn))
	c := &conn{socket: s, text: s, headLeft: maxHead, sent: make(chan struct{})}
	if u.tls != nil {
		secure := tls.Client(s, u.tls)
		if err := secure.HandshakeContext(dialing); err != nil {
			s.cut()
			return nil, u.explain(dialing, err)
		}
		c.text = secure
	}
	c.before = s.count()
	c.in = bufio.NewReader(arrivals{c})
	c.unbind = context.AfterFunc(ctx, s.cut)
	return c, nil
}

// end cuts the connection and waits until nothing more is sent. It may be
// called again. It returns what kept the request from being sent whole.
func (c *conn) end() error {
	c.unbind()
	c.socket.cut() // never through TLS, which would wait to say goodbye
	select {
	case <-c.sent:
	default:
		if b, ok := c.body.(stoppable); ok {
			_ = b.Close() // what it says of a body that is not wanted any more does not matter
		}
		<-c.sent
	}
	return c.sendErr
}

// wrote reports whether any byte of the request was given to the kernel.
func (c *conn) wrote() bool { return c.socket.count() > c.before }

// arrivals is what the store sends, decrypted, up to maxHead before the end of
// the final answer's head.
type arrivals struct{ c *conn }

func (a arrivals) Read(b []byte) (int, error) {
	c := a.c
	if c.headLeft == 0 {
		return 0, fmt.Errorf("the head of the answer has more than %d bytes", maxHead)
	}
	if c.headLeft > 0 {
		b = b[:min(int64(len(b)), c.headLeft)]
	}
	n, err := c.text.Read(b)
	if c.headLeft > 0 {
		c.headLeft -= int64(n)
	}
	return n, err
}
