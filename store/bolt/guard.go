package bolt

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// panicked is a panic of bbolt's, or a fault: the file was cut short or the
// disk failed under the mapping.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// guarded runs f and returns a panic or memory fault in it as a *panicked. It
// covers this goroutine only; bbolt starts none for what is called here.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{p}
		}
	}()
	return f()
}

// firstPages is a mapping of the meta pages, which bbolt reads while it holds
// locks that a panic would leave locked. Touching them beforehand turns "the file
// was truncated" into an ordinary error.
type firstPages []byte

func mapFirstPages(file *os.File, pageSize uint32) (firstPages, error) {
	b, err := syscall.Mmap(int(file.Fd()), 0, 2*int(pageSize), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return b, nil
}

// touch panics if the pages cannot be read. Inlined, the compiler would see
// that the result is not needed and leave the reading out.
//
//go:noinline
func (p firstPages) touch() byte { return p[0] ^ p[len(p)/2] }

// copyTo appends the pages to b. They are read through the mapping, since a read
// of the file notes its time in the inode, which the next commit would have to
// write. It panics if they cannot be read.
func (p firstPages) copyTo(b []byte) []byte { return append(b, p...) }

func (p firstPages) close() error { return syscall.Munmap(p) }
