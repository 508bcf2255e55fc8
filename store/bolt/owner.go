package bolt

import (
	"os"
	"syscall"
)

// likeFile gives file the owner and mode of another: who repairs a ledger as
// root must not take it away from the user that serves it.
func likeFile(file, other *os.File) error {
	info, err := other.Stat()
	if err != nil {
		return err
	}
	if err := ownLike(file, info); err != nil {
		return err
	}
	return file.Chmod(info.Mode().Perm())
}

func ownLike(file *os.File, other os.FileInfo) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	mine, ok := info.Sys().(*syscall.Stat_t)
	theirs, ok2 := other.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || mine.Uid == theirs.Uid && mine.Gid == theirs.Gid {
		return nil
	}
	return file.Chown(int(theirs.Uid), int(theirs.Gid))
}
