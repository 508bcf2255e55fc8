//go:build !linux

package dir

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// folder is a directory beneath an os.Root. Every name given to its methods is
// relative to it. Safe for concurrent use; after the root's close every method
// returns an error.
//
// os.Root follows symbolic links that stay beneath it, so each step is looked
// at first; only a local user who can write below the root could get between
// the look and the use, and gets no further than the root.
type folder struct {
	root *os.Root
	rel  string // of the folder in the root, "." for the root itself
	owns bool   // close closes the root
}

// openRoot opens the directory at an operator's path.
func openRoot(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{root, ".", true}, nil
}

// noLinks returns ELOOP if a step of the path is a symbolic link.
func (f *folder) noLinks(rel string) error {
	at := f.rel
	for step := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, step)
		fi, err := f.root.Lstat(at)
		if err != nil {
			return err
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			return &fs.PathError{Op: "open", Path: rel, Err: syscall.ELOOP}
		}
	}
	return nil
}

// open opens a directory beneath f; rel is a path, or ".".
func (f *folder) open(rel string) (*folder, error) {
	if err := f.noLinks(rel); err != nil {
		return nil, err
	}
	at := path.Join(f.rel, rel)
	fi, err := f.root.Lstat(at)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: rel, Err: syscall.ENOTDIR}
	}
	return &folder{f.root, at, false}, nil
}

// of returns the directory beneath f, at rel, that was opened as o.
func (f *folder) of(_ *opened, rel string) *folder {
	return &folder{f.root, path.Join(f.rel, rel), false}
}

// openFile opens what is at a path beneath f for reading. It never waits for
// the other end of a FIFO; the caller must check what it got.
func (f *folder) openFile(rel string) (*os.File, error) {
	if err := f.noLinks(rel); err != nil {
		return nil, err
	}
	return f.root.OpenFile(path.Join(f.rel, rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// peek is openFile for those who read little.
func (f *folder) peek(rel string) (*opened, error) {
	file, err := f.openFile(rel)
	if err != nil {
		return nil, err
	}
	return &opened{file}, nil
}

// create makes a file that must not exist yet, for reading and writing.
func (f *folder) create(base string) (*os.File, error) {
	return f.root.OpenFile(path.Join(f.rel, base), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

// draft is create for those who only write.
func (f *folder) draft(base string) (*opened, error) {
	file, err := f.create(base)
	if err != nil {
		return nil, err
	}
	return &opened{file}, nil
}

// keep opens a file for reading and writing that is made if it is missing.
func (f *folder) keep(base string) (*os.File, error) {
	return f.root.OpenFile(path.Join(f.rel, base), os.O_RDWR|os.O_CREATE, 0o600)
}

// stat describes a name in f without following it.
func (f *folder) stat(base string) (info, error) {
	fi, err := f.root.Lstat(path.Join(f.rel, base))
	if err != nil {
		return info{}, err
	}
	return infoOf(fi), nil
}

// itself describes f.
func (f *folder) itself() (info, error) { return f.stat(".") }

func (f *folder) mkdir(base string, perm uint32) error {
	return f.root.Mkdir(path.Join(f.rel, base), fs.FileMode(perm))
}

// rename moves a name of f over a name of to, in one step.
func (f *folder) rename(base string, to *folder, toBase string) error {
	return f.root.Rename(path.Join(f.rel, base), path.Join(to.rel, toBase))
}

// renameNew moves a name of f to a name of to that must not be there.
func (f *folder) renameNew(base string, to *folder, toBase string) error {
	if _, err := to.stat(toBase); err == nil {
		return pathError("rename", toBase, syscall.EEXIST)
	} else if !notExist(err) {
		return err
	}
	return f.rename(base, to, toBase)
}

// exchange makes two names change places, in one step; there is no portable
// call for it.
func (f *folder) exchange(string, *folder, string) error { return errNoExchange }

// unlink removes a name that is not a directory.
func (f *folder) unlink(base string) error {
	fi, err := f.root.Lstat(path.Join(f.rel, base))
	if err != nil {
		return err
	}
	if fi.IsDir() {
		return &fs.PathError{Op: "unlink", Path: base, Err: syscall.EISDIR}
	}
	return f.root.Remove(path.Join(f.rel, base))
}

// rmdir removes an empty directory.
func (f *folder) rmdir(base string) error { return f.root.Remove(path.Join(f.rel, base)) }

// touch sets the modification time of a name in f.
func (f *folder) touch(base string, mtime time.Time) error {
	return f.root.Chtimes(path.Join(f.rel, base), time.Time{}, mtime)
}

// each calls yield with the names in f, in no order, until an error. yield may
// remove names; such as come meanwhile may be seen or not.
func (f *folder) each(yield func(base string)) error {
	file, err := f.root.Open(f.rel)
	if err != nil {
		return err
	}
	return errors.Join(eachName(file, yield), file.Close())
}

// sync makes the names in f durable.
func (f *folder) sync() error {
	file, err := f.root.Open(f.rel)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncAll makes the names in the root durable; there is no portable call for
// everything below it.
func (f *folder) syncAll() error { return f.sync() }

// free cannot be told portably.
func (f *folder) free() (int64, error) { return math.MaxInt64, nil }

// syncsAll: see syncAll.
const syncsAll = false

// attribute and setAttribute: there is no portable call to keep something
// beside a file.
func attribute(*os.File, string) ([]byte, error) { return nil, nil }

func setAttribute(file *os.File, name string, value []byte) error {
	if len(value) == 0 {
		return nil
	}
	return pathError("setxattr", file.Name(), syscall.ENOTSUP)
}

// close closes the root; folders opened beneath it hold nothing.
func (f *folder) close() error {
	if !f.owns {
		return nil
	}
	return f.root.Close()
}
