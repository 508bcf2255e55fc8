package dir

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// folder is an open directory. Every name given to its methods is relative to
// it; the methods that take one name, not a path, do not resolve anything.
// Safe for concurrent use; after close every method returns an error.
type folder struct {
	fd int
	// uses is how many system calls are under way, plus shut after close. The
	// kernel gives the number of a closed descriptor out again, so that it is
	// closed only by the last who uses it.
	uses atomic.Int64
}

const shut = math.MinInt64

// confined is how the kernel resolves every path that came from a client.
const confined = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// openRoot opens the directory at an operator's path.
func openRoot(path string) (*folder, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := &folder{fd: fd}
	self, err := f.open(".")
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		err = &confinementError{err}
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, self.close()
}

// confinementError: the kernel will not resolve paths beneath a directory.
type confinementError struct{ err error }

func (e *confinementError) Error() string {
	return "the system call openat2, which keeps requests inside the directory, is not available (" + e.err.Error() +
		"): it needs Linux 5.6 or later, and in a container a seccomp profile that allows it (Docker has since 20.10); " +
		"otherwise serve the directory with a WebDAV server and name that as the upstream"
}

func (e *confinementError) Unwrap() error { return e.err }

// control runs op on the descriptor, which stays open until op returns.
func (f *folder) control(op func(fd int) error) error {
	if !f.use() {
		return fs.ErrClosed
	}
	defer f.unuse()
	for {
		if err := op(f.fd); err != unix.EINTR {
			return err
		}
	}
}

// use keeps the descriptor open until unuse; it returns false after close.
func (f *folder) use() bool {
	for {
		n := f.uses.Load()
		if n < 0 {
			return false
		}
		if f.uses.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (f *folder) unuse() {
	if f.uses.Add(-1) == shut {
		_ = unix.Close(f.fd) // nothing was written through it
	}
}

// close leaves it to calls that are under way to close the descriptor.
func (f *folder) close() error {
	uses := f.uses.Or(shut)
	if uses < 0 {
		return fs.ErrClosed
	}
	if uses > 0 {
		return nil
	}
	if err := unix.Close(f.fd); err != nil && err != unix.EINTR {
		return os.NewSyscallError("close", err)
	}
	return nil
}

func (f *folder) openat2(rel string, flags, mode uint64) (fd int, err error) {
	err = f.control(func(at int) (err error) {
		fd, err = unix.Openat2(at, rel, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Mode: mode, Resolve: confined})
		return err
	})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: rel, Err: err}
	}
	return fd, nil
}

func (f *folder) openFileWith(rel string, flags, mode uint64) (*os.File, error) {
	fd, err := f.openat2(rel, flags, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// open opens a directory beneath f; rel is a path, or ".".
func (f *folder) open(rel string) (*folder, error) {
	fd, err := f.openat2(rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &folder{fd: fd}, nil
}

// of returns the directory beneath f that was opened as o. It is not closed, and
// not used after o is.
func (f *folder) of(o *opened, _ string) *folder { return &folder{fd: o.fd} }

// forReading is how what a client names is opened: never waiting for the other
// end of a FIFO.
const forReading = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_NOFOLLOW

// peek is openFile for those who read little.
func (f *folder) peek(rel string) (*opened, error) {
	fd, err := f.openat2(rel, forReading, 0)
	if err != nil {
		return nil, err
	}
	return &opened{fd, rel}, nil
}

// openFile opens what is at a path beneath f for reading. It never waits for
// the other end of a FIFO; the caller must check what it got.
func (f *folder) openFile(rel string) (*os.File, error) {
	return f.openFileWith(rel, forReading, 0)
}

// create makes a file that must not exist yet, for reading and writing.
func (f *folder) create(base string) (*os.File, error) {
	o, err := f.draft(base)
	if err != nil {
		return nil, err
	}
	return o.file(), nil
}

// draft is create for those who only write.
func (f *folder) draft(base string) (*opened, error) {
	fd, err := f.openat2(base, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, err
	}
	return &opened{fd, base}, nil
}

// keep opens a file for reading and writing that is made if it is missing.
func (f *folder) keep(base string) (*os.File, error) {
	return f.openFileWith(base, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW, 0o600)
}

// stat describes a name in f without following it.
func (f *folder) stat(base string) (info, error) {
	var st unix.Stat_t
	err := f.control(func(at int) error { return unix.Fstatat(at, base, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return info{}, &fs.PathError{Op: "stat", Path: base, Err: err}
	}
	return infoOfStat(&st), nil
}

// itself describes f.
func (f *folder) itself() (info, error) {
	var st unix.Stat_t
	if err := f.control(func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return info{}, os.NewSyscallError("fstat", err)
	}
	return infoOfStat(&st), nil
}

func (f *folder) mkdir(base string, perm uint32) error {
	err := f.control(func(at int) error { return unix.Mkdirat(at, base, perm) })
	return pathError("mkdir", base, err)
}

// rename moves a name of f over a name of to, in one step.
func (f *folder) rename(base string, to *folder, toBase string) error {
	err := f.control(func(from int) error {
		return to.control(func(at int) error { return unix.Renameat(from, base, at, toBase) })
	})
	return pathError("rename", toBase, err)
}

// renameNew moves a name of f to a name of to that must not be there: else it
// returns EEXIST and nothing has changed. Where the file system cannot check in
// the same step, it is checked before.
func (f *folder) renameNew(base string, to *folder, toBase string) error {
	err := f.rename2(base, to, toBase, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	if _, err := to.stat(toBase); err == nil {
		return pathError("rename", toBase, unix.EEXIST)
	} else if !notExist(err) {
		return err
	}
	return f.rename(base, to, toBase)
}

// exchange makes two names change places, in one step.
func (f *folder) exchange(base string, to *folder, toBase string) error {
	err := f.rename2(base, to, toBase, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errNoExchange
	}
	return err
}

func (f *folder) rename2(base string, to *folder, toBase string, flags uint) error {
	err := f.control(func(from int) error {
		return to.control(func(at int) error { return unix.Renameat2(from, base, at, toBase, flags) })
	})
	return pathError("rename", toBase, err)
}

// unlink removes a name that is not a directory.
func (f *folder) unlink(base string) error {
	err := f.control(func(at int) error { return unix.Unlinkat(at, base, 0) })
	return pathError("unlink", base, err)
}

// rmdir removes an empty directory.
func (f *folder) rmdir(base string) error {
	err := f.control(func(at int) error { return unix.Unlinkat(at, base, unix.AT_REMOVEDIR) })
	return pathError("rmdir", base, err)
}

// touch sets the modification time of a name in f.
func (f *folder) touch(base string, mtime time.Time) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime.UnixNano())}
	err := f.control(func(at int) error { return unix.UtimesNanoAt(at, base, times, unix.AT_SYMLINK_NOFOLLOW) })
	return pathError("utimensat", base, err)
}

// each calls yield with the names in f, in no order, until an error. yield may
// remove names; such as come meanwhile may be seen or not.
func (f *folder) each(yield func(base string)) error {
	fresh, err := f.openFileWith(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(eachName(fresh, yield), fresh.Close())
}

// sync makes the names in f durable.
func (f *folder) sync() error { return os.NewSyscallError("fsync", f.control(unix.Fsync)) }

// syncAll makes everything on f's file system durable.
func (f *folder) syncAll() error {
	return os.NewSyscallError("syncfs", f.control(unix.Syncfs))
}

// free returns how many bytes f's file system could still take at the very
// most, reserved blocks included. Some do not tell (ramfs, tmpfs with size=0, some
// FUSE ones): they say that they have no blocks at all.
func (f *folder) free() (int64, error) {
	var st unix.Statfs_t
	if err := f.control(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return 0, os.NewSyscallError("fstatfs", err)
	}
	if st.Blocks == 0 {
		return math.MaxInt64, nil
	}
	return int64(min(st.Bfree, 1<<40)) * int64(st.Bsize), nil
}

// syncsAll: syncAll reaches the content of every file, so that a tree need not
// be made durable file by file.
const syncsAll = true

// attribute returns what is kept beside an open file or directory under that
// name, nil for nothing.
func attribute(file *os.File, name string) ([]byte, error) {
	return readAttribute(name, func(buf []byte) (n int, err error) {
		err = control(file, func(fd int) (err error) {
			n, err = unix.Fgetxattr(fd, name, buf)
			return err
		})
		return n, pathError("getxattr", file.Name(), err)
	})
}

// readAttribute makes room for what get returns.
func readAttribute(name string, get func(buf []byte) (int, error)) ([]byte, error) {
	for size := 512; ; size *= 4 {
		buf := make([]byte, size)
		n, err := get(buf)
		switch {
		case errors.Is(err, unix.ERANGE) && size < 1<<20:
		case errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP):
			return nil, nil
		default:
			return buf[:n], err
		}
	}
}

// setAttribute keeps value beside an open file or directory, in one step; an
// empty one is removed.
func setAttribute(file *os.File, name string, value []byte) error {
	err := control(file, func(fd int) error {
		if len(value) > 0 {
			return unix.Fsetxattr(fd, name, value, 0)
		}
		if err := unix.Fremovexattr(fd, name); err != unix.ENODATA && err != unix.ENOTSUP {
			return err
		}
		return nil
	})
	return pathError("setxattr", file.Name(), err)
}

// control runs op on the descriptor of file, which stays open until op returns.
func control(file *os.File, op func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var opErr error
		if err := raw.Control(func(fd uintptr) { opErr = op(int(fd)) }); err != nil {
			return err
		}
		if opErr != unix.EINTR {
			return opErr
		}
	}
}
