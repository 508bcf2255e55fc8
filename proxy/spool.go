package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// memoryBody is how much of a body is kept in memory before it goes to a file.
const memoryBody = 1 << 20

// spool takes in bodies for stores without staging of their own.
type spool struct {
	dir    string
	memory budget // what bodies above smallBody keep in memory
}

// memoryQuota is what the bodies above smallBody may take of memory together.
const memoryQuota = 256 << 20

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
	return &spool{dir: dir, memory: budget{quota: memoryQuota}}, nil
}

// spooled is a body that has arrived whole.
type spooled struct {
	memory []byte
	file   *os.File // nil when it is in memory
	size   int64

	reserved *budget // of which it has memoryBody, nil if none
	pooled   *[]byte // memory is of pools
	more     [1]byte // to find out that there is no more
	bytes    bytes.Buffer
}

// smallBody is what any body may take of memory. It is also how much a declared
// length alone is given: whoever only announces bodies shall not fill it.
const smallBody = 64 << 10

// pools are of memory for small bodies, by its size: a request that waits for
// its turn must not keep 64 KiB for one.
var pools = [...]struct {
	size int
	free sync.Pool
}{{size: 2 << 10}, {size: 16 << 10}, {size: smallBody}}

// takeSmall reads a body of at most smallBody bytes.
func (b *spooled) takeSmall(body io.Reader, declared int64) error {
	i := 0
	for int64(pools[i].size) < declared {
		i++
	}
	kept, _ := pools[i].free.Get().(*[]byte)
	if kept == nil {
		b := make([]byte, pools[i].size)
		kept = &b
	}
	b.pooled, b.size = kept, declared
	b.memory = (*kept)[:declared]
	// Not a byte may go on that the body did not have: memory holds another's.
	if _, err := io.ReadFull(body, b.memory); err != nil {
		b.drop()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if _, err := io.ReadFull(body, b.more[:]); err != io.EOF {
		b.drop()
		if err == nil {
			err = errTooLong
		}
		return err
	}
	return nil
}

// errTooLong cannot be: the server reads a body up to its declared length.
var errTooLong = errors.New("the body is longer than was declared")

// take reads body to its end, into out, which is to be dropped then; after an
// error it has nothing. declared is the body's length, −1 when unknown.
func (s *spool) take(out *spooled, body io.Reader, declared int64) error {
	if declared == 0 {
		return nil
	}
	if declared > 0 && declared <= smallBody {
		return out.takeSmall(body, declared)
	}
	buf := bytes.NewBuffer(make([]byte, 0, max(0, min(declared, smallBody))+bytes.MinRead))
	_, err := io.CopyN(buf, body, smallBody+1)
	if err == nil && (s == nil || s.memory.take(memoryBody)) {
		if s != nil {
			out.reserved = &s.memory
		}
		if declared <= memoryBody {
			buf.Grow(max(0, int(declared)-buf.Len()) + bytes.MinRead)
			_, err = io.CopyN(buf, body, memoryBody-smallBody)
		}
	}
	switch {
	case err == io.EOF:
		out.memory, out.size = buf.Bytes(), int64(buf.Len())
		return nil
	case err != nil:
		out.drop()
		return err
	case s == nil:
		return bodyError{&Refusal{Reason: reasonBodyLarge,
			Detail: "A body that is not to be stored has at most 1 MiB here. Nothing was sent to the store."}}
	}
	if err := s.toFile(out, buf.Bytes(), body); err != nil {
		out.drop()
		return spoolError(err)
	}
	return nil
}

// piece is how much of a body is written to its file at once, in bytes, if there
// is memory for it: the kernel then keeps it in larger pages, and looks for room
// less often.
const piece = 256 << 10

var pieces = sync.Pool{New: func() any {
	b := make([]byte, piece)
	return &b
}}

// toFile takes a body in that is too large for memory; begun is its beginning.
func (s *spool) toFile(out *spooled, begun []byte, body io.Reader) (err error) {
	if out.file, err = os.CreateTemp(s.dir, spoolPrefix); err != nil {
		return err
	}
	// Without a name nothing stays behind, however the process ends.
	if err := os.Remove(out.file.Name()); err != nil {
		return err
	}
	memory := begun[:cap(begun)]
	if out.reserved != nil {
		defer out.unreserve()
		kept := pieces.Get().(*[]byte)
		defer pieces.Put(kept)
		memory = *kept
	}
	for next := begun; ; {
		n, writeErr := out.file.Write(next)
		out.size += int64(n)
		if writeErr != nil || err == io.EOF {
			return writeErr
		}
		for n = 0; n < len(memory) && err == nil; {
			var m int
			m, err = body.Read(memory[n:])
			n += m
		}
		if err != nil && err != io.EOF {
			return err
		}
		next = memory[:n]
	}
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
		b.bytes = *bytes.NewBuffer(b.memory) // a store may take Bytes as they are
		return &b.bytes
	}
	return io.NewSectionReader(b.file, 0, b.size)
}

func (b *spooled) drop() {
	b.unreserve()
	if b.file != nil {
		b.file.Close()
	}
	if b.pooled != nil {
		for i := range pools {
			if pools[i].size == len(*b.pooled) {
				pools[i].free.Put(b.pooled)
			}
		}
		b.pooled, b.memory = nil, nil
	}
}

func (b *spooled) unreserve() {
	if b.reserved != nil {
		b.reserved.give(memoryBody)
		b.reserved = nil
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
