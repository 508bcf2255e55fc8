package main

import (
	"errors"
	"slices"
)

// putFaults is what went wrong with some of several uploads. A nil one is none.
type putFaults struct {
	code   int
	faults []error
}

// severity orders exit codes: the worst of several uploads is told. A signal's
// stands before what is lost or in doubt.
var severity = []int{0, exitFailed, exitNoInput, exitUsage, exitHeld, exitUnavailable, signalled, exitLost, exitUnknown}

const signalled = -1

func rank(code int) int {
	if code > 128 {
		code = signalled
	}
	return slices.Index(severity, code)
}

func (f *putFaults) add(code int, err error) *putFaults {
	if f == nil {
		f = &putFaults{}
	}
	f.faults = append(f.faults, err)
	if rank(code) > rank(f.code) {
		f.code = code
	}
	return f
}

func (f *putFaults) err() error {
	if f == nil {
		return nil
	}
	return &exitError{f.code, errors.Join(f.faults...)}
}
