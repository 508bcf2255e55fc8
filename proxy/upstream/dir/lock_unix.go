//go:build unix && !aix && !solaris

package dir

import (
	"io/fs"
	"os"
	"syscall"
)

// lockFile takes the lock without waiting; EWOULDBLOCK means that another
// process, or another Dir, has it. Closing the file gives it back.
func lockFile(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = raw.Control(func(fd uintptr) {
		for {
			if lockErr = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB); lockErr != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return lockErr
}

func identity(fi fs.FileInfo) (dev, ino uint64) {
	st := fi.Sys().(*syscall.Stat_t)
	return uint64(st.Dev), uint64(st.Ino)
}
