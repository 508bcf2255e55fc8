//go:build unix && !linux

package harness

import "time"

// Monotonic is comparable between processes, as on Linux, as long as nobody
// sets the clock.
func Monotonic() time.Duration { return time.Duration(time.Now().UnixNano()) }
