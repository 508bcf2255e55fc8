package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// memoryBody is how much of a body is kept in memory before it goes to a file.
const memoryBody = 1 << 20

// spool takes in bodies for stores without staging of their own.
type spool struct{ dir string }

const spoolPrefix = "body-"

// openSpool makes the spool directory and removes what a run before left.
func openSpool(dir string) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the spool directory: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sweeping the spool directory: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), spoolPrefix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return nil, fmt.Errorf("sweeping the spool directory: %w", err)
			}
		}
	}
	return &spool{dir}, nil
}

// spooled is a body that has arrived whole.
type spooled struct {
	memory []byte
	file   *os.File // nil when it is in memory
	size   int64
}

// firstBuffer is how much memory a declared length alone is given: whoever only
// announces bodies shall not fill the memory.
const firstBuffer = 64 << 10

// take reads body to its end. declared is its length, −1 when unknown.
func (s *spool) take(body io.Reader, declared int64) (*spooled, error) {
	buf := bytes.NewBuffer(make([]byte, 0, max(0, min(declared, firstBuffer))+bytes.MinRead))
	n, err := io.CopyN(buf, body, memoryBody+1)
	switch {
	case err == io.EOF:
		return &spooled{memory: buf.Bytes(), size: n}, nil
	case err != nil:
		return nil, err
	case s == nil:
		return nil, bodyError{&Refusal{Reason: reasonBodyLarge,
			Detail: "A body that is not to be stored has at most 1 MiB here. Nothing was sent to the store."}}
	}
	file, err := os.CreateTemp(s.dir, spoolPrefix)
	if err != nil {
		return nil, spoolError(err)
	}
	out := &spooled{file: file}
	// Without a name nothing stays behind, however the process ends.
	if err := os.Remove(file.Name()); err != nil {
		out.drop()
		return nil, spoolError(err)
	}
	out.size, err = io.Copy(file, io.MultiReader(buf, body))
	if err != nil {
		out.drop()
		return nil, spoolError(err)
	}
	return out, nil
}

// spoolError turns a full disk into the refusal it means.
func spoolError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		ref := spoolFull()
		ref.Err = err
		return bodyError{ref}
	}
	return err
}

// reader returns the body from its start.
func (b *spooled) reader() io.Reader {
	if b.file == nil {
		return bytes.NewReader(b.memory)
	}
	return io.NewSectionReader(b.file, 0, b.size)
}

func (b *spooled) drop() {
	if b.file != nil {
		b.file.Close()
	}
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
