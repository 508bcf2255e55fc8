//go:build !race && !386

package nonblock

import (
	"syscall"
	"unsafe"
)

// Read reads into b what has come to the socket, at the end of the connection
// nothing. Where nothing has come the error is EAGAIN.
func Read(fd int, b []byte) (int, error) { return receive(fd, b, 0) }

// Peek is Read, but leaves everything where it is.
func Peek(fd int, b []byte) (int, error) { return receive(fd, b, syscall.MSG_PEEK) }

func receive(fd int, b []byte, flags uintptr) (int, error) {
	return call(syscall.SYS_RECVFROM, fd, b, flags|syscall.MSG_DONTWAIT)
}

// Write hands to the kernel what it takes of b. Where it takes nothing the error
// is EAGAIN.
func Write(fd int, b []byte) (int, error) {
	return call(syscall.SYS_SENDTO, fd, b, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
}

// Gather is Write of two pieces, of which the first is not empty.
func Gather(fd int, first, second []byte) (int, error) {
	if len(second) == 0 {
		return Write(fd, first)
	}
	pieces := [2]syscall.Iovec{{Base: &first[0]}, {Base: &second[0]}}
	pieces[0].SetLen(len(first))
	pieces[1].SetLen(len(second))
	message := syscall.Msghdr{Iov: &pieces[0], Iovlen: 2}
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}

func call(number uintptr, fd int, b []byte, flags uintptr) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		n, _, errno := syscall.RawSyscall6(number, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}
