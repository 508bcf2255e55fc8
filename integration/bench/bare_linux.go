package main

import (
	"fmt"
	"path"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// bareFolder is an open directory with an open staging area.
type bareFolder struct {
	root, staged int
	serial       atomic.Uint64
}

func openBareFolder(root string) (*bareFolder, error) {
	f := &bareFolder{}
	for path, fd := range map[string]*int{root: &f.root, filepath.Join(root, bareStaging): &f.staged} {
		var err error
		if *fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// put makes the system calls that proxy/upstream/dir makes for a PUT over an
// object under WebDAV, as "strace -f" shows them, in their order; but for two
// looks at directories, by which that knows its own one and who else writes.
func (f *bareFolder) put(name string, body []byte) (err error) {
	try := func(call string, failed error) bool {
		if failed != nil {
			err = fmt.Errorf("%s for %s: %w", call, name, failed)
		}
		return failed == nil
	}
	base := fmt.Sprintf("bare-%d", f.serial.Add(1))
	file, failed := f.open(f.staged, base, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o666)
	if !try("openat2", failed) {
		return err
	}
	var now unix.Stat_t
	n, failed := unix.Write(file, body)
	if failed == nil && n < len(body) {
		failed = unix.ENOSPC
	}
	ok := try("write", failed) &&
		try("utimensat", unix.UtimesNanoAt(f.staged, base, []unix.Timespec{{Nsec: unix.UTIME_OMIT},
			unix.NsecToTimespec(time.Now().UnixNano())}, unix.AT_SYMLINK_NOFOLLOW)) &&
		try("fsync", unix.Fsync(file)) &&
		try("fstat", unix.Fstat(file, &now))
	if !try("close", unix.Close(file)) || !ok {
		return err
	}
	parent, failed := f.open(f.root, path.Dir(name)[1:], unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if !try("openat2", failed) {
		return err
	}
	ok = f.look(parent, path.Base(name), try) &&
		try("renameat", unix.Renameat(f.staged, base, parent, path.Base(name))) &&
		try("fsync", unix.Fsync(parent))
	if try("close", unix.Close(parent)) && ok {
		return nil
	}
	return err
}

// look looks at what is to be replaced, and for its WebDAV properties.
func (f *bareFolder) look(parent int, base string, try func(string, error) bool) bool {
	var now unix.Stat_t
	failed := unix.Fstatat(parent, base, &now, unix.AT_SYMLINK_NOFOLLOW)
	if failed == unix.ENOENT {
		return true
	}
	if !try("newfstatat", failed) {
		return false
	}
	old, failed := f.open(parent, base, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if !try("openat2", failed) {
		return false
	}
	_, failed = unix.Fgetxattr(old, "user.fencegate.properties", make([]byte, 512))
	if failed == unix.ENODATA || failed == unix.ENOTSUP {
		failed = nil
	}
	ok := try("fgetxattr", failed)
	return try("close", unix.Close(old)) && ok
}

func (f *bareFolder) open(at int, rel string, flags, mode uint64) (fd int, err error) {
	return unix.Openat2(at, rel, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Mode: mode,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV})
}
