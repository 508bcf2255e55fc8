//go:build !linux

package lockclient

const bootClockKnown = false
