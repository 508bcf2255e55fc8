package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkSeparate tells what of ours is not apart from the directory that is
// served. Parts of the state can be links to elsewhere.
func (c *serveConfig) checkSeparate(tell func(key, path string, err error)) {
	if c.scheme() != "dir" {
		return
	}
	told := make(map[string]bool)
	for _, d := range []struct{ key, path string }{
		{"state", c.State},
		{"state", c.spoolDir()},
		{"state", filepath.Join(c.State, "ledger.db")},
		{"ledger", c.Ledger},
		{"ledger", filepath.Join(c.Ledger, "ledger.db")},
	} {
		if d.key == "ledger" && c.Ledger == "" || told[d.key] {
			continue
		}
		if err := separate(c.root(), d.path); err != nil {
			told[d.key] = true // what lies in it has the same fault
			tell(d.key, d.path, err)
		}
	}
}

// separate keeps a file or directory of ours out of the directory that is
// served, where clients could read and replace it, and that directory out of
// ours. Neither has to exist yet; nothing is made.
func separate(root, ours string) error {
	root, err := realPath(root)
	if err != nil {
		return err
	}
	ours, err = realPath(ours)
	if err != nil {
		return err
	}
	switch {
	case isWithin(ours, root):
		return fmt.Errorf("%s is inside %s, the directory that is served, where clients could change it; expected another place", ours, root)
	case isWithin(root, ours):
		return fmt.Errorf("%s contains %s, the directory that is served; expected another place", ours, root)
	}
	return nil
}

// realPath returns where a path leads when it is opened or made: links are
// followed as far as there are any, also one to what does not exist yet, at
// which filepath.EvalSymlinks gives up.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	done, ahead := "/", strings.Split(path, "/")
	for links := 0; len(ahead) > 0; {
		next := filepath.Join(done, ahead[0]) // of "..", what is above where a link has led
		target, err := os.Readlink(next)
		if err != nil {
			done, ahead = next, ahead[1:]
			continue
		}
		if links++; links > 100 {
			return "", fmt.Errorf("%s: too many links", path)
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		ahead = append(strings.Split(target, "/"), ahead[1:]...)
	}
	return done, nil
}

// isWithin reports whether path is dir or below it, by name and, as a bind
// mount or a file system that folds case gives a directory two names, by what
// is there.
func isWithin(path, dir string) bool {
	if rel, err := filepath.Rel(dir, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return true
	}
	there, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for ; ; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, there) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}
