package remote

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// socket is a TCP connection that knows how many bytes the kernel has taken of
// what was written to it. It hides that it could read from a file by itself
// (sendfile), which would escape the count. It has one writer and one reader at a
// time.
type socket struct {
	net.Conn
	tcp *net.TCPConn
	raw syscall.RawConn
	in  reading
	out writing

	mu       sync.Mutex
	written  int64
	received int64 // what was read
	ahead    int64 // what had arrived before the last write of a request; 0: that was its first
	hush     bool  // nothing may have arrived when the next byte is written
	term     term

	late func() // see until
}

// Why a connection is not written to.
var (
	errUnasked = errors.New("the store sent something before it was asked")
	errLeft    = errors.New("the store has closed the connection")
)

func newSocket(tcp *net.TCPConn) (*socket, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: tcp, tcp: tcp, raw: raw}
	s.in.init(s)
	s.out.init(s)
	return s, nil
}

// count returns the number of bytes written so far.
func (s *socket) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// progress returns the number of bytes written so far, what had arrived, of all,
// before the last write of the present request, and what has been read until now.
func (s *socket) progress() (written, ahead, received int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written, s.ahead, s.received
}

// begin begins a request, and returns the number of bytes written before. With
// hush the next write fails, with nothing sent, if something has arrived until
// then, the end of the connection included: what is read after a request must be
// its answer. It is looked at right before the write.
func (s *socket) begin(hush bool) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = 0
	s.hush = s.hush || hush
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
