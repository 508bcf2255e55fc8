//go:build !linux

package dir

import (
	"io"
	"os"
)

// opened is an open file or directory. It is used by one goroutine at a time.
// After close every method returns an error.
type opened struct{ given *os.File }

// stat describes it.
func (o *opened) stat() (info, error) { return statFile(o.given) }

// read fills b from the start of the file; n is less where that ends before.
func (o *opened) read(b []byte) (n int, err error) {
	n, err = o.given.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Write appends b, to a file that was made by draft.
func (o *opened) Write(b []byte) (n int, err error) { return o.given.Write(b) }

// sync makes its content durable.
func (o *opened) sync() error { return o.given.Sync() }

// attribute returns what is kept beside it under that name, nil for nothing.
func (o *opened) attribute(name string) ([]byte, error) { return attribute(o.given, name) }

// file gives it away, at the start of the file.
func (o *opened) file() *os.File {
	file := o.given
	o.given = nil
	return file
}

// close closes it, unless it has been given away.
func (o *opened) close() error {
	if o.given == nil {
		return nil
	}
	file := o.given
	o.given = nil
	return file.Close()
}
