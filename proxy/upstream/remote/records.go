package remote

import (
	"crypto/tls"
	"errors"
	"net"
)

// records is the line below TLS. It follows where records end in what arrives,
// because crypto/tls reads ahead and does not tell what it holds.
type records struct {
	net.Conn
	head   [5]byte // type, version, length: RFC 8446 section 5.1
	have   int     // bytes of head
	left   int     // bytes of the record after its head
	closed bool    // for reads
}

// Read implements io.Reader.
func (r *records) Read(b []byte) (int, error) {
	if r.closed {
		return 0, errNotNow
	}
	n, err := r.Conn.Read(b)
	r.follow(b[:n])
	return n, err
}

func (r *records) follow(b []byte) {
	for len(b) > 0 {
		if r.left > 0 {
			n := min(r.left, len(b))
			r.left, b = r.left-n, b[n:]
			continue
		}
		n := copy(r.head[r.have:], b)
		r.have, b = r.have+n, b[n:]
		if r.have == len(r.head) {
			r.have, r.left = 0, int(r.head[3])<<8|int(r.head[4])
		}
	}
}

// drained reports whether conn, which is TLS on r, has handed out all that has
// been read from r. No Read of it may be in progress.
func (r *records) drained(conn *tls.Conn) bool {
	r.closed = true
	n, err := conn.Read(make([]byte, 1))
	r.closed = false
	return n == 0 && errors.Is(err, errNotNow) && r.have == 0 && r.left == 0
}

// errNotNow passes through crypto/tls without making it fail for good.
var errNotNow net.Error = notNow{}

type notNow struct{}

func (notNow) Error() string   { return "nothing is read now" }
func (notNow) Timeout() bool   { return true }
func (notNow) Temporary() bool { return true }
