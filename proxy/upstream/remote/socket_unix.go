//go:build unix && !aix

package remote

import (
	"io"
	"os"
	"syscall"

	"fencegate/proxy/nonblock"
)

// canPeek: whether something has arrived can be known without waiting for it.
const canPeek = true

// gathers: two pieces can be written as one.
const gathers = nonblock.Gathers

// writing is a write in progress. It is kept with its socket so that writes
// allocate nothing.
type writing struct {
	left     [2][]byte                 // one after the other
	send     func(fd int) (int, error) // is called instead, if it is not nil
	n        int
	err      error
	all, now func(fd uintptr) (done bool)
	peeked   [512]byte
}

func (w *writing) init(s *socket) {
	w.all = func(fd uintptr) bool {
		s.writeOnce(int(fd))
		return w.err != syscall.EAGAIN
	}
	w.now = func(fd uintptr) bool {
		s.writeOnce(int(fd))
		return true
	}
}

// Write implements io.Writer. Each write to the kernel is counted before
// anybody can learn of it: an answer to its last byte may wake its reader
// before a Write of net returns, and would look like an early one.
func (s *socket) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = s.write(b[n:], s.out.all)
		n += m
	}
	return n, err
}

// writeNow writes what the kernel takes at once, which may be nothing.
func (s *socket) writeNow(b []byte) (int, error) {
	n, err := s.write(b, s.out.now)
	if err == syscall.EAGAIN {
		err = nil
	}
	return n, err
}

func (s *socket) write(b []byte, once func(fd uintptr) bool) (int, error) {
	w := &s.out
	w.left[0], w.n, w.err = b, 0, nil
	err := s.raw.Write(once)
	for s.again(err, false) {
		err = s.raw.Write(once)
	}
	w.left[0] = nil
	if err == nil {
		err = w.err
	}
	return w.n, writeError(err)
}

func writeError(err error) error {
	if errno, ok := err.(syscall.Errno); ok && errno != syscall.EAGAIN {
		return os.NewSyscallError("write", errno)
	}
	return err
}

// converse is writeNow and, if the kernel takes all, the Read of the first that
// comes back: into b, after sent has been told. For both the poller is asked
// once, and before the write: what comes after it cannot be missed, so that it
// need not be looked for before it is waited for.
func (s *socket) converse(text, more, b []byte, sent interface{ release() }) (wrote, got int, err error) {
	w, r := &s.out, &s.in
	w.left, w.n, w.err = [2][]byte{text, more}, 0, nil
	r.b, r.n, r.err = b, 0, nil
	r.sent = sent
	err = s.raw.Read(r.after)
	for s.again(err, true) {
		err = s.raw.Read(r.after)
	}
	w.left = [2][]byte{}
	switch {
	case r.sent == nil: // all was written
		got, err = r.result(err)
	case err == nil && w.err != syscall.EAGAIN:
		err = writeError(w.err)
	}
	r.b, r.sent = nil, nil
	return w.n, got, err
}

// reading is a read in progress.
type reading struct {
	b    []byte
	n    int
	err  error
	once func(fd uintptr) (done bool)

	after func(fd uintptr) (done bool) // once, after a write
	sent  interface{ release() }       // nil: the write is over
}

func (r *reading) init(s *socket) {
	r.after = func(fd uintptr) bool {
		if w := &s.out; r.sent != nil {
			silent := s.writeOnce(int(fd))
			if w.err != nil || w.n < len(w.left[0])+len(w.left[1]) {
				return true
			}
			w.left = [2][]byte{}
			r.sent.release()
			r.sent = nil
			if silent {
				return false
			}
		}
		return r.once(fd)
	}
	r.once = func(fd uintptr) bool {
		s.readOnce(int(fd))
		return r.err != syscall.EAGAIN
	}
}

// Read implements io.Reader. Like what is written, what leaves the kernel is
// counted before anybody can miss it.
func (s *socket) Read(b []byte) (int, error) {
	r := &s.in
	r.b, r.n, r.err = b, 0, nil
	err := s.raw.Read(r.once)
	for s.again(err, true) {
		err = s.raw.Read(r.once)
	}
	n, err := r.result(err)
	r.b = nil
	return n, err
}

// result is what a read comes to that the poller ended with err.
func (r *reading) result(err error) (int, error) {
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, os.NewSyscallError("read", r.err)
	case r.n == 0 && len(r.b) > 0:
		return 0, io.EOF
	}
	return r.n, nil
}

func (s *socket) readOnce(fd int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.in
	var n int
	if n, r.err = nonblock.Read(fd, r.b); n > 0 {
		r.n = n
		s.received += int64(n)
	}
}

// readNow reads what has arrived. The error is errNotNow if that is nothing.
func (s *socket) readNow(b []byte) (n int, err error) {
	once := func(fd uintptr) bool {
		n, err = nonblock.Read(int(fd), b)
		return true
	}
	rawErr := s.raw.Read(once)
	for s.again(rawErr, true) {
		rawErr = s.raw.Read(once)
	}
	switch {
	case rawErr != nil:
		return 0, rawErr
	case err == syscall.EAGAIN:
		return 0, errNotNow
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// writeOnce does not block: net's sockets never do. It reports whether nothing
// had arrived.
func (s *socket) writeOnce(fd int) (silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.out
	if s.hush {
		if w.err = w.silent(fd); w.err != nil {
			return false
		}
		s.hush, silent = false, true
	} else {
		n, err := nonblock.Peek(fd, w.peeked[:])
		if err != nil && err != syscall.EAGAIN {
			w.err = err // it is told only once
			return false
		}
		s.ahead = s.received + int64(max(n, 0))
	}
	for {
		var n int
		switch {
		case w.send != nil:
			n, w.err = w.send(fd)
		case len(w.left[1]) > 0:
			n, w.err = nonblock.Gather(fd, w.left[0], w.left[1])
		default:
			n, w.err = nonblock.Write(fd, w.left[0])
		}
		if n > 0 {
			s.written += int64(n)
			w.n = n
		}
		if w.err != syscall.EINTR {
			return silent
		}
	}
}

// silent returns an error unless nothing has arrived.
func (w *writing) silent(fd int) error {
	n, err := nonblock.Peek(fd, w.peeked[:1])
	switch {
	case err == syscall.EAGAIN:
		return nil
	case err != nil:
		return os.NewSyscallError("recv", err)
	case n == 0:
		return errLeft
	}
	return errUnasked
}
