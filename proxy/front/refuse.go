package front

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// A client may still be sending when it is refused: it gets this long, for
	// this much, to read the answer before the connection is reset. A reset that
	// overtakes the answer would destroy it (RFC 9112 section 9.6).
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// refuse answers a request that no handler sees, and ends the connection.
func (c *conn) refuse(why *refusal) {
	text := fmt.Sprintf("%d %s", why.status, http.StatusText(why.status))
	first := text
	if why.text != "" {
		text += ": " + why.text
	}
	if c.visit != nil {
		c.visit.end()
		c.visit = nil
	}
	_ = c.writeBy.want(time.Now().Add(c.server.HeadTimeout))
	if c.write(fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		first, len(text), text)) != nil {
		return
	}
	c.linger()
}

// linger ends our side of the connection, and reads on for a while.
func (c *conn) linger() {
	half, ok := c.socket.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.readBy.want(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, rest{c}, lingerBytes) // whatever comes of it
}

// rest is what a connection still brings.
type rest struct{ c *conn }

func (r rest) Read(b []byte) (int, error) { return r.c.read(b) }
