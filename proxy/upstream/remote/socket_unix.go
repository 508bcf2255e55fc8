//go:build unix

package remote

import (
	"os"
	"syscall"
)

// Write implements io.Writer. Each write to the kernel is counted before
// anybody can learn of it: an answer to its last byte may wake its reader
// before a Write of net returns, and would look like an early one.
func (s *socket) Write(b []byte) (n int, err error) {
	raw, err := s.tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	for n < len(b) {
		var writeErr error
		err := raw.Write(func(fd uintptr) (done bool) {
			var m int
			m, writeErr = s.writeOnce(int(fd), b[n:])
			n += m
			return writeErr != syscall.EAGAIN
		})
		if err != nil {
			return n, err
		}
		if writeErr != nil {
			return n, os.NewSyscallError("write", writeErr)
		}
	}
	return n, nil
}

// writeOnce does not block: net's sockets never do.
func (s *socket) writeOnce(fd int, b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		n, err := syscall.Write(fd, b)
		if n > 0 {
			s.written += int64(n)
		}
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
