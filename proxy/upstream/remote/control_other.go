//go:build !linux

package remote

import (
	"syscall"
	"time"
)

// control has nothing portable to offer: what a killed process has handed to
// the kernel may still arrive, so the settle time has to cover it.
func control(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
