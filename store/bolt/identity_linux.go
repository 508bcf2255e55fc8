package bolt

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// sameFile reports whether path leads to the open file. It asks for nothing but
// device and inode: since Linux 6.13 whoever asks for a file's times has the next
// write to it change them, which costs each commit a change of the inode as well.
func sameFile(file *os.File, path string) (bool, error) {
	mine, err := identityOf(int(file.Fd()), "", unix.AT_EMPTY_PATH)
	if err == nil {
		var there identity
		if there, err = identityOf(unix.AT_FDCWD, path, 0); err == nil {
			return mine == there, nil
		}
	}
	// Kernels before 4.11 have no statx, and some sandboxes refuse it.
	if err == unix.ENOSYS || err == unix.EPERM {
		return sameFileByStat(file, path)
	}
	return false, &fs.PathError{Op: "statx", Path: path, Err: err}
}

type identity struct {
	major, minor uint32
	inode        uint64
}

func identityOf(dir int, path string, flags int) (identity, error) {
	var s unix.Statx_t
	for {
		switch err := unix.Statx(dir, path, flags, unix.STATX_INO, &s); err {
		case nil:
			return identity{s.Dev_major, s.Dev_minor, s.Ino}, nil
		case unix.EINTR:
		default:
			return identity{}, err
		}
	}
}
