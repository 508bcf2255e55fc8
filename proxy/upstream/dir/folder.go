package dir

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"syscall"
	"time"
)

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// eachName reads the names in an open directory.
func eachName(dir *os.File, yield func(base string)) error {
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			yield(name)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errNoExchange: the file system cannot let two names change places.
var errNoExchange = refuse(http.StatusForbidden,
	"this file system cannot replace a directory, or something by a directory, in one step: delete the destination first")

// notExist, unlike errors.Is(err, fs.ErrNotExist), is true for ENOENT only.
func notExist(err error) bool { return errors.Is(err, syscall.ENOENT) }

// enter opens a directory that the store itself keeps in f, making it first if
// need be.
func (f *folder) enter(base string) (*folder, error) {
	if err := f.mkdir(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return f.open(base)
}

// statFile describes an open file.
func statFile(file *os.File) (info, error) {
	fi, err := file.Stat()
	if err != nil {
		return info{}, err
	}
	return infoOf(fi), nil
}

// infoOf keeps what we need of fi.
func infoOf(fi fs.FileInfo) info {
	i := info{mode: fi.Mode().Type(), size: fi.Size(), mtime: time.Unix(0, fi.ModTime().UnixNano())}
	i.dev, i.ino = identity(fi)
	return i
}
