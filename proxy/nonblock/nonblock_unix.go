//go:build unix && !aix && (!linux || race || 386)

package nonblock

import "syscall"

// Read reads into b what has come to the socket, at the end of the connection
// nothing. Where nothing has come the error is EAGAIN.
func Read(fd int, b []byte) (int, error) {
	return again(func() (int, error) { return syscall.Read(fd, b) })
}

// Peek is Read, but leaves everything where it is.
func Peek(fd int, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return again(func() (int, error) {
		n, _, err := syscall.Recvfrom(fd, b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return n, err
	})
}

// Write hands to the kernel what it takes of b. Where it takes nothing the error
// is EAGAIN.
func Write(fd int, b []byte) (int, error) {
	return again(func() (int, error) { return syscall.Write(fd, b) })
}

// Gather is Write of two pieces, of which the first is not empty. It may take the
// second one alone for later.
func Gather(fd int, first, second []byte) (int, error) { return gather(fd, first, second) }

func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
