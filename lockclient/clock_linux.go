package lockclient

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime counts the time a suspended machine sleeps, which CLOCK_MONOTONIC
// (Go's) does not: clock_gettime(2).
func bootTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
