package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"fencegate/fence"
)

// upload is one file on its way.
type upload struct {
	file  string // "-" is standard input
	path  string // escaped
	found bool   // in a directory: where no link is followed
}

// uploads lists what is to be sent, and what cannot be.
func (c *putCmd) uploads() (all []upload, faults *putFaults) {
	if !c.Recursive {
		return []upload{{file: c.File, path: c.URL}}, nil
	}
	top, err := filepath.EvalSymlinks(c.File) // which WalkDir would not enter
	if err != nil {
		return nil, faults.add(exitNoInput, err)
	}
	err = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			faults = faults.add(exitNoInput, err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case name == top && !d.IsDir():
			return fmt.Errorf("%s: it is no directory, which --recursive expects", c.File)
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			faults = faults.add(exitNoInput, fmt.Errorf("%q: it is no regular file, and was not sent", name))
			return nil
		}
		path, err := c.pathOf(top, name)
		if err != nil {
			faults = faults.add(exitNoInput, fmt.Errorf("%q: it was not sent, for the fence refuses the name: %w", name, err))
			return nil
		}
		all = append(all, upload{name, path, true})
		return nil
	})
	if err != nil {
		faults = faults.add(exitNoInput, err)
	}
	return all, faults
}

// pathOf returns the escaped path that a file below top is stored at.
func (c *putCmd) pathOf(top, name string) (string, error) {
	rel, err := filepath.Rel(top, name)
	if err != nil {
		return "", err
	}
	path := c.URL
	for segment := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		path += "/" + url.PathEscape(segment)
	}
	_, err = fence.Canonical(path, fence.NameOptions{})
	return path, err
}

var errNoFile = errors.New("it is neither a file nor a pipe")
