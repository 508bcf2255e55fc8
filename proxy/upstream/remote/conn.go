package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// maxHead limits the head of an answer, with all informational ones, in
	// bytes.
	maxHead = 1 << 20
	// chunk is how much of a request is handed to the kernel at once: 64 KiB and
	// a head. All of it fits into an empty send buffer (control_linux.go).
	chunk = 72 << 10
)

// conn is a connection to the store. It serves one request at a time.
type conn struct {
	socket *socket
	text   net.Conn  // the socket, or TLS on it
	secure *tls.Conn // text, if it is TLS
	under  *records  // below it
	cut    func()    // socket.cut

	in     *input        // what has arrived
	told   string        // the last head that was simple
	fixed  fixed         // the body of such an answer
	head   []byte        // of another answer
	unread []byte        // of head, by result
	result *bufio.Reader // of the answer: head, and then what follows in in; nil: not needed yet
	asked  http.Request  // what ReadResponse has to know

	idle time.Time // since when, while it is in the pool

	exchange
}

// exchange is what a connection knows of the request that it serves.
type exchange struct {
	used     bool  // the connection has served others before
	before   int64 // bytes on the socket before the request
	ctx      context.Context
	unbind   func() bool // from ctx
	headLeft int64       // of maxHead; < 0: the head has been read
	answered int64       // the socket's count when the final answer began
	start    int64       // where on the socket that answer began; with TLS: or earlier
	loose    bool        // something else may have come after start
	seen     framing
	keeps    bool // the final answer does not end the connection

	sent    chan struct{} // closed when nothing more is sent; nil: that is so
	body    io.Closer     // of what is being sent, if it can be interrupted
	sendErr error         // readable after sent
}

// dial connects, until ctx or the store's life ends. With an error nothing of a
// request has been sent.
func (u *Remote) dial(ctx context.Context) (*conn, error) {
	alive, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(u.life, func() { end(ErrClosed) })()
	dialing, cancel := context.WithTimeoutCause(alive, u.opts.DialTimeout, fmt.Errorf("no connection after %v: %w", u.opts.DialTimeout, context.DeadlineExceeded))
	defer cancel()
	tcp, err := u.dialer.DialContext(dialing, "tcp", u.addr)
	if err != nil {
		return nil, u.explain(dialing, err)
	}
	s, err := newSocket(tcp.(*net.TCPConn))
	if err != nil {
		tcp.Close()
		return nil, u.explain(dialing, err)
	}
	c := &conn{socket: s, text: s, cut: s.cut}
	if u.tls != nil {
		c.under = &records{socket: s}
		c.secure = tls.Client(c.under, u.tls)
		if err := c.secure.HandshakeContext(dialing); err != nil {
			s.cut()
			return nil, u.explain(dialing, err)
		}
		c.text = c.secure
	}
	c.in = newInput(arrivals{c})
	c.fixed.in = c.in
	s.late = c.watch
	if !u.own(c) {
		s.cut()
		return nil, ErrClosed
	}
	return c, nil
}

// bind begins the exchange of m, which is cut when ctx ends.
func (c *conn) bind(ctx context.Context, m *message, used bool) {
	// Of a new connection with TLS begin looks what has arrived.
	before := c.socket.begin(used || c.secure == nil)
	c.exchange = exchange{used: used, before: before, headLeft: maxHead, ctx: ctx}
	if c.secure != nil {
		_, _, c.start = c.socket.progress()
		c.loose = !used && c.secure.ConnectionState().Version != tls.VersionTLS12 // session tickets
	}
	end := m.end
	if d, ok := ctx.(timed); ok {
		end, _ = d.Deadline()
	} else if !m.patient {
		c.watch()
	}
	c.socket.until(end, m.patient)
}

// watch has the exchange cut when its context ends.
func (c *conn) watch() {
	c.unbind = context.AfterFunc(c.ctx, c.cut)
}

// timed is a context that ends by its deadline alone: the socket can have that,
// which costs less than to be told of the end.
type timed interface {
	context.Context
	EndsByDeadline()
}

// release ends what bind began, and reports whether the connection was not, and
// will not be, cut by it. It may be called again.
func (c *conn) release() bool {
	free := c.unbind == nil || c.unbind()
	c.unbind = nil
	return free
}

// end cuts the connection and waits until nothing more is sent. It may be
// called again. It returns what kept the request from being sent whole.
func (c *conn) end() error {
	c.release()
	c.cut() // never through TLS, which would wait to say goodbye
	if !c.over() {
		if c.body != nil {
			_ = c.body.Close() // nobody wants to know what it says of the rest
		}
		<-c.sent
	}
	return c.sendErr
}

// over reports whether nothing more is sent.
func (c *conn) over() bool {
	if c.sent == nil {
		return true
	}
	select {
	case <-c.sent:
		return true
	default:
		return false
	}
}

// whole reports whether all of the request was sent before the final answer
// began. That an answer was read late does not make it late: what had arrived
// before the last write is known too.
func (c *conn) whole() bool {
	written, ahead, _ := c.socket.progress()
	return c.over() && c.sendErr == nil && c.answered == written && (c.loose || ahead <= c.start)
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
