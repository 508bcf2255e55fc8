package remote

import (
	"crypto/tls"
	"errors"
	"net"
)

// records is the line below TLS. It follows where records end in what arrives,
// because crypto/tls reads ahead and does not tell what it holds.
type records struct {
	*socket
	head [5]byte // type, version, length: RFC 8446 section 5.1
	have int     // bytes of head
	left int     // bytes of the record after its head
	now  bool    // reads do not wait
}

// Read implements io.Reader.
func (r *records) Read(b []byte) (n int, err error) {
	if r.now {
		n, err = r.socket.readNow(b)
	} else {
		n, err = r.socket.Read(b)
	}
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

// readNow reads from conn, which is TLS on r, without waiting: the error is
// errNotNow if there is nothing. It tells no more than whether there is. No Read
// of conn may be in progress.
func (r *records) readNow(conn *tls.Conn) (int, error) {
	r.now = true
	defer func() { r.now = false }()
	return conn.Read(make([]byte, 1))
}

// drained reports whether conn has handed out all that has arrived.
func (r *records) drained(conn *tls.Conn) bool {
	n, err := r.readNow(conn)
	return n == 0 && errors.Is(err, errNotNow) && r.have == 0 && r.left == 0
}

// errNotNow passes through crypto/tls without making it fail for good.
var errNotNow net.Error = notNow{}

type notNow struct{}

func (notNow) Error() string   { return "nothing has arrived" }
func (notNow) Timeout() bool   { return true }
func (notNow) Temporary() bool { return true }
