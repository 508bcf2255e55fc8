//go:build unix && !aix && !linux

package nonblock

func gather(fd int, first, _ []byte) (int, error) { return Write(fd, first) }
