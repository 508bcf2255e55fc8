package harness

import (
	"net"

	"golang.org/x/sys/unix"
)

// tcpEstablished is the state of a connection that neither side has ended, from
// include/net/tcp_states.h.
const tcpEstablished = 1

// isOpen asks the kernel whether neither side has ended the connection.
func isOpen(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		open = err == nil && info.State == tcpEstablished
	})
	return err == nil && open
}
