package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// makeFolders makes the parents of all paths of a load, so that a store of files
// need not.
func makeFolders(root string, l load) error {
	var errs []error
	made := filepath.Join(root, l.prefix())
	for thread := range l.threads {
		errs = append(errs, os.MkdirAll(filepath.Join(made, "t"+strconv.Itoa(thread)), 0o777))
	}
	// Whatever the umask is, and whoever the server runs as.
	for folder := made; folder != root; folder = filepath.Dir(folder) {
		errs = append(errs, os.Chmod(folder, 0o777))
	}
	for thread := range l.threads {
		errs = append(errs, os.Chmod(filepath.Join(made, "t"+strconv.Itoa(thread)), 0o777))
	}
	return errors.Join(errs...)
}

// writtenSince counts the files of a load that are whole and that have been
// written since then.
func writtenSince(root string, l load, then time.Time) (n int64, err error) {
	then = then.Add(-10 * time.Millisecond) // the clock of files goes by the tick
	err = filepath.WalkDir(filepath.Join(root, l.prefix()), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // replaced meanwhile, by one of the last writes
			return nil
		}
		if err == nil && info.Size() == int64(l.size) && !info.ModTime().Before(then) {
			n++
		}
		return err
	})
	return n, err
}
