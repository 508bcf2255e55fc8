package front

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsent is how many bytes the kernel takes beyond what it may send, in bytes.
const unsent = 128 << 10

// keepUnsentSmall makes a blocked write go on as soon as the client has taken a
// little. By default the kernel waits until a third of its buffer is free,
// which is up to MiBs: a slow client would look like one that takes nothing
// (TCP_NOTSENT_LOWAT, tcp(7)). Without it only slow clients fare worse.
func keepUnsentSmall(c net.Conn) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsent)
		})
	}
}
