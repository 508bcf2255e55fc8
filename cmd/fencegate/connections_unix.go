//go:build unix

package main

import (
	"math"
	"syscall"
)

// openFiles returns how many files this process may have open.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur) // signed on some systems
}
