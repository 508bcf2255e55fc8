package remote

import (
	"net"
	"sync"
)

// socket is a TCP connection that knows how many bytes the kernel has taken of
// what was written to it. It hides that it could read from a file by itself
// (sendfile), which would escape the count.
type socket struct {
	net.Conn
	tcp *net.TCPConn

	mu      sync.Mutex
	written int64
}

func newSocket(tcp *net.TCPConn) *socket { return &socket{Conn: tcp, tcp: tcp} }

// count returns the number of bytes written so far.
func (s *socket) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// cut resets the connection: what the kernel has not sent is discarded, reads
// and writes in progress end, and the store sees an error instead of an end. It
// may be called again.
func (s *socket) cut() {
	// An error of either says that the connection is closed already.
	_ = s.tcp.SetLinger(0)
	_ = s.tcp.Close()
}
