package front

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitLeave waits until the other end has closed the connection, or its sending
// side of it, and returns true; or until the deadline for reading, and returns
// false. It reads nothing: Go's poller wakes it for every event of the socket,
// and poll(2) tells the end apart from what has come before it (POLLRDHUP).
//
// What the client has sent before it left is in the way of that only when it is
// more than the kernel takes: then the end has not arrived here.
func awaitLeave(raw syscall.RawConn) bool {
	left := false
	err := raw.Read(func(fd uintptr) bool {
		left = hungUp(int32(fd))
		return left
	})
	return left || !errors.Is(err, os.ErrDeadlineExceeded)
}

// hungUp reports whether a socket's other end is closed, resets included.
func hungUp(fd int32) bool {
	fds := []unix.PollFd{{Fd: fd, Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// watches: awaitLeave can tell.
const watches = true
