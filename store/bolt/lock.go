package bolt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fencegate/fence"
)

// lockPoll is how often a waiting opener tries again; the kernel has no flock
// with a time limit.
const lockPoll = 20 * time.Millisecond

// takeLock takes the lock of a state directory, waiting for wait at most. The
// kernel gives it up when the process ends, however it ends. The file is never
// removed: two processes could then each hold a lock of that name.
func takeLock(ctx context.Context, dir string, wait time.Duration) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	deadline := time.Now().Add(wait)
	for {
		f, err := tryLock(path)
		if err == nil {
			notePid(f)
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, unusable(path, err)
		}
		if !time.Now().Before(deadline) {
			return nil, &fence.OpenError{
				Path:   filepath.Join(dir, ledgerName),
				Err:    fence.ErrLedgerHeld,
				Detail: holder(path),
				Remedy: "stop it first, or stand by with --wait",
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// releaseLock gives the lock up at once. Closing alone would not, if another
// goroutine is just starting a process: between fork and exec that has the file
// open as well.
func releaseLock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// tryLock fails with EWOULDBLOCK if the lock is held, or was replaced in the
// moment it was taken.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, err
	}
	ownAsDirectory(f)
	mine, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		there, err = os.Stat(path)
		if err == nil && os.SameFile(mine, there) {
			return f, nil
		}
	}
	_ = releaseLock(f)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return nil, syscall.EWOULDBLOCK
}

// ownAsDirectory gives a lock file that root has just made to whom the directory
// belongs, who could not use the ledger otherwise. Only root can, and only for
// root it is needed.
func ownAsDirectory(f *os.File) {
	if os.Geteuid() != 0 {
		return
	}
	if info, err := os.Stat(filepath.Dir(f.Name())); err == nil {
		_ = ownLike(f, info)
	}
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}

// notePid tells the next opener who holds the lock. Only a courtesy, so that a
// full disk does not keep a ledger from being opened.
func notePid(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

func holder(path string) string {
	b, err := os.ReadFile(path)
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || convErr != nil {
		return "held through " + path
	}
	return "process " + strconv.Itoa(pid) + " holds " + path
}
