//go:build unix && !linux

package harness

import (
	"net"
	"syscall"
)

// isOpen reports whether the connection is surely not ended: nothing has come
// on it that was not read, not even its end.
func isOpen(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		open = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	})
	return err == nil && open
}
