package remote

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sendBuffer is what the kernel may hold of a request, in bytes; it doubles the
// value for its own bookkeeping (socket(7)).
const sendBuffer = 128 << 10

// control prepares a socket so that nothing of a request can arrive long after
// we stopped sending it. Linger 0 is for the end of the process, which closes
// its sockets: without it a killed sender's data is sent to its end. The user
// timeout (RFC 5482, tcp(7)) ends what a broken network would resume later.
func control(userTimeout time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		ctlErr := c.Control(func(fd uintptr) {
			set := func(level, option, value int) {
				if err == nil {
					err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), level, option, value))
				}
			}
			set(unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
			set(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(max(1, userTimeout.Milliseconds())))
			if err == nil {
				err = os.NewSyscallError("setsockopt", unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
			}
		})
		if ctlErr != nil {
			return ctlErr
		}
		return err
	}
}
