//go:build linux && (race || 386)

package nonblock

import "golang.org/x/sys/unix"

func gather(fd int, first, second []byte) (int, error) {
	if len(second) == 0 {
		return Write(fd, first)
	}
	return again(func() (int, error) { return unix.Writev(fd, [][]byte{first, second}) })
}
