//go:build unix && !aix && !linux

package nonblock

// Gathers: Gather hands over both pieces at once.
const Gathers = false

func gather(fd int, first, _ []byte) (int, error) { return Write(fd, first) }
