//go:build unix && !aix

package front

import (
	"io"
	"os"
	"syscall"

	"fencegate/proxy/nonblock"
)

// reading is one read from the socket.
type reading struct {
	once func(fd uintptr) bool // kept, since a new one for each read is garbage
	b    []byte                // nil: into a buffer, taken when something comes
	n    int
	err  error
}

// readRaw reads by a system call of our own: so no buffer is needed while there
// is nothing to read.
func (c *conn) readRaw(b []byte) (int, error) {
	op := &c.op
	op.b, op.n, op.err = b, 0, nil
	err := c.raw.Read(op.once)
	op.b = nil
	switch {
	case err != nil:
		return 0, err
	case op.err != nil:
		return 0, os.NewSyscallError("read", op.err)
	case op.n == 0:
		return 0, io.EOF
	}
	return op.n, nil
}

// readOnce does not block: net's sockets never do.
func (c *conn) readOnce(fd uintptr) bool {
	op := &c.op
	b := op.b
	if b == nil {
		c.takeInput()
		b = c.in
	}
	n, err := nonblock.Read(int(fd), b)
	if err == syscall.EAGAIN {
		if op.b == nil {
			c.freeInput()
		}
		return false
	}
	op.n, op.err = n, err
	return true
}

// writing is one write to the socket.
type writing struct {
	all  func(fd uintptr) bool // kept like reading.once
	left []byte
	n    int
	err  error
}

// writeRaw is socket.Write, by system calls of our own.
func (c *conn) writeRaw(b []byte) (int, error) {
	op := &c.writing
	op.left, op.n, op.err = b, 0, nil
	err := c.raw.Write(op.all)
	op.left = nil
	switch {
	case err != nil:
		return op.n, err
	case op.err != nil:
		return op.n, os.NewSyscallError("write", op.err)
	}
	return op.n, nil
}

// writeAllOf writes until all is written or the kernel takes no more for now.
func (c *conn) writeAllOf(fd uintptr) bool {
	op := &c.writing
	for len(op.left) > 0 {
		n, err := nonblock.Write(int(fd), op.left)
		op.n, op.left = op.n+n, op.left[n:]
		if err == syscall.EAGAIN {
			return false
		}
		if err != nil {
			op.err = err
			return true
		}
	}
	return true
}
