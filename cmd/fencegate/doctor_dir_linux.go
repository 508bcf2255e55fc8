package main

import (
	"errors"
	"math"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// systemCalls tries what the directory store asks of the kernel, and what would
// make it faster.
func systemCalls(x *dirExam, f *found) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, x.folder, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		f.wrong("serve does not start: it needs Linux 5.6, and in a container a seccomp profile that allows openat2", "openat2: %v", err)
		return nil
	}
	_ = unix.Close(fd)
	has := []string{"openat2"}
	var lacks []string
	tmp, err := unix.Open(x.folder, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_ = unix.Close(tmp)
		has = append(has, "O_TMPFILE")
	} else {
		lacks = append(lacks, "O_TMPFILE")
	}
	one, other := filepath.Join(x.folder, "call-one"), filepath.Join(x.folder, "call-other")
	if err := errors.Join(x.write("call-one", "1"), x.write("call-other", "2")); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_NOREPLACE); errors.Is(err, unix.EEXIST) {
		has = append(has, "renameat2")
	} else {
		lacks = append(lacks, "renameat2 (RENAME_NOREPLACE)")
	}
	if lacks != nil {
		f.know("nothing has to be done; serve goes without", "%s; not %s", strings.Join(has, ", "), strings.Join(lacks, ", "))
		return nil
	}
	f.fine("%s", strings.Join(has, ", "))
	return nil
}

// freeBytes is what a user without privileges can still store. Some file systems
// do not tell; they say that they have no blocks at all.
func freeBytes(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	if st.Blocks == 0 {
		return math.MaxInt64 >> 1, nil
	}
	return int64(min(st.Bavail, 1<<40)) * int64(st.Bsize), nil
}
