package dir

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// opened is an open file or directory: a descriptor without what an *os.File
// has around it, which costs a small file more than reading it does. It is used
// by one goroutine at a time, and must be closed: nothing else closes it. After
// close every other method returns an error.
type opened struct {
	fd  int // -1 when it is closed, or given away
	rel string
}

// call runs op on the descriptor.
func (o *opened) call(op string, call func(fd int) error) error {
	for {
		switch err := call(o.fd); err { // of -1 the kernel says EBADF
		case nil:
			return nil
		case unix.EINTR:
		default:
			return &fs.PathError{Op: op, Path: o.rel, Err: err}
		}
	}
}

// stat describes it.
func (o *opened) stat() (info, error) {
	var st unix.Stat_t
	if err := o.call("fstat", func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return info{}, err
	}
	return infoOfStat(&st), nil
}

// infoOfStat keeps what we need of st.
func infoOfStat(st *unix.Stat_t) info {
	i := info{size: st.Size, mtime: time.Unix(st.Mtim.Unix()), dev: uint64(st.Dev), ino: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		i.mode = fs.ModeDir
	default:
		i.mode = fs.ModeIrregular
	}
	return i
}

// read fills b from the start of the file; n is less where that ends before.
func (o *opened) read(b []byte) (n int, err error) {
	for n < len(b) {
		var got int
		err := o.call("read", func(fd int) (err error) {
			got, err = unix.Pread(fd, b[n:], int64(n))
			return err
		})
		if err != nil || got == 0 {
			return n, err
		}
		n += got
	}
	return n, nil
}

// Write appends b, to a file that was made by draft.
func (o *opened) Write(b []byte) (n int, err error) {
	for n < len(b) {
		var put int
		err := o.call("write", func(fd int) (err error) {
			put, err = unix.Write(fd, b[n:])
			return err
		})
		if err != nil {
			return n, err
		}
		n += put
	}
	return n, nil
}

// sync makes its content durable.
func (o *opened) sync() error { return o.call("fsync", unix.Fsync) }

// attribute returns what is kept beside it under that name, nil for nothing.
func (o *opened) attribute(name string) ([]byte, error) {
	return readAttribute(name, func(buf []byte) (n int, err error) {
		err = o.call("getxattr", func(fd int) (err error) {
			n, err = unix.Fgetxattr(fd, name, buf)
			return err
		})
		return n, err
	})
}

// file gives the descriptor away, at the start of the file.
func (o *opened) file() *os.File {
	file := os.NewFile(uintptr(o.fd), o.rel)
	o.fd = -1
	return file
}

// close closes it, unless it has been given away.
func (o *opened) close() error {
	if o.fd < 0 {
		return nil
	}
	fd := o.fd
	o.fd = -1
	// Even with EINTR it is closed, and its number may be another file's: close(2).
	if err := unix.Close(fd); err != nil && err != unix.EINTR {
		return &fs.PathError{Op: "close", Path: o.rel, Err: err}
	}
	return nil
}
