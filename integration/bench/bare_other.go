//go:build !linux

package main

import "errors"

type bareFolder struct{}

func openBareFolder(string) (*bareFolder, error) {
	return nil, errors.New("the system calls of a PUT into a directory are known for Linux only: leave out dir-bare")
}

func (*bareFolder) put(string, []byte) error { return errors.ErrUnsupported }
