package dir

import (
	"errors"
	"io/fs"
	"net/http"
	"syscall"
	"testing"
)

// What the operating system says decides between the store's own answers and
// failures.
func TestRefused(t *testing.T) {
	for errno, status := range map[syscall.Errno]int{
		syscall.ENOSPC: 507, syscall.EDQUOT: 507, syscall.EFBIG: 413,
		syscall.EROFS: 403, syscall.EACCES: 403, syscall.EPERM: 403, syscall.ELOOP: 403, syscall.EXDEV: 403, syscall.EBUSY: 403,
		syscall.ENOTDIR: 409, syscall.EISDIR: 409, syscall.ENAMETOOLONG: 414,
		syscall.EIO: 0, syscall.EMFILE: 0, syscall.ENOENT: 0, syscall.ESTALE: 0, syscall.ENOMEM: 0,
	} {
		cause := &fs.PathError{Op: "open", Path: "x", Err: errno}
		err := refused(cause)
		var own *StatusError
		if !errors.As(err, &own) {
			own = &StatusError{}
		}
		if own.Status != status || !errors.Is(err, errno) {
			t.Errorf("%v: %v with status %d, want %d", errno, err, own.Status, status)
		}
	}
	if refused(nil) != nil {
		t.Error("no error became one")
	}
	own := refuse(http.StatusConflict, "text")
	if refused(own) != error(own) {
		t.Error("an own answer was changed")
	}
}
