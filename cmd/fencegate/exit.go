package main

import (
	"errors"

	"fencegate/fence"
)

// Exit codes, after sysexits.h. Service managers tell them apart.
const (
	exitOK          = 0
	exitFailed      = 1  // a demonstration that did not go as told
	exitUsage       = 64 // the command line
	exitData        = 65 // the ledger is damaged, suspect, of a newer format or another one, or failed while serving
	exitNoInput     = 66 // there is no ledger
	exitUnavailable = 69 // another server does not answer
	exitBug         = 70
	exitNetworkFS   = 71 // the ledger is on a network file system
	exitCreate      = 73 // ledger or storage cannot be created or written, or the ledger exists already
	exitUnknown     = 74 // a write may still take effect, or not
	exitHeld        = 75 // the ledger, an address or a lock is in use by another process
	exitLost        = 76 // the lock was lost, or the fence has seen a later holder
	exitConfig      = 78 // configuration

	exitNotExecutable = 126 // as shells have it
	exitNotFound      = 127
)

// exitError carries the exit code that an error ends the process with. Without
// an error there is nothing to tell: a command has told it already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

// exitCode returns the code for an error; what it does not know is a bug.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	var own *exitError
	if errors.As(err, &own) {
		return own.code
	}
	for _, known := range []struct {
		err  error
		code int
	}{
		{fence.ErrLedgerMissing, exitNoInput},
		{fence.ErrLedgerDamaged, exitData},
		{fence.ErrLedgerSuspect, exitData},
		{fence.ErrLedgerNewer, exitData},
		{fence.ErrLedgerForeign, exitData},
		{fence.ErrLedgerHeld, exitHeld},
		{fence.ErrLedgerExists, exitCreate},
		{fence.ErrLedgerCreate, exitCreate},
		{fence.ErrLedgerFull, exitCreate},
		{fence.ErrLedgerNetworkFS, exitNetworkFS},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	// What the operating system refused: permission, a read-only disk.
	var open *fence.OpenError
	if errors.As(err, &open) {
		return exitCreate
	}
	return exitBug
}
