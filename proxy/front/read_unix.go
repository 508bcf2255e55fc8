//go:build unix

package front

import (
	"io"
	"os"
	"syscall"
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
	for {
		n, err := syscall.Read(int(fd), b)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			if op.b == nil {
				c.freeInput()
			}
			return false
		}
		op.n, op.err = max(n, 0), err
		return true
	}
}
