package remote

import (
	"os"
	"syscall"
)

// maxSend is how much of a file the kernel is asked to send at once, in bytes.
// It takes less: what fits into the send buffer.
const maxSend = 1 << 30

// sendFile writes size bytes of file, from at on, without copying them. Like
// those of Write, each is counted before anybody can learn of it. It returns how
// many were written. Where the kernel cannot do it, or something fails, the error
// is nil: whether the file does or the connection shows when the rest is read and
// written.
func (s *socket) sendFile(file *os.File, at, size int64) (n int64, err error) {
	from, err := file.SyscallConn()
	if err != nil {
		return 0, nil
	}
	w := &s.out
	fileErr := from.Control(func(in uintptr) {
		w.send = func(out int) (int, error) {
			offset := at + n
			return syscall.Sendfile(out, int(in), &offset, int(min(size-n, maxSend)))
		}
		for w.n = 1; n < size && w.n > 0 && err == nil; n += int64(w.n) {
			w.n, w.err = 0, nil
			err = s.raw.Write(w.all)
			for s.again(err, false) {
				err = s.raw.Write(w.all)
			}
		}
		w.send = nil
	})
	if fileErr != nil {
		return 0, nil
	}
	return n, err
}
