//go:build !linux

package main

import (
	"errors"
	"os/exec"
	"runtime"
	"time"
)

var errLinux = errors.New("CPU time is known on Linux only: run the bench there")

func bind(*exec.Cmd) {}

func cpuTime(int) (time.Duration, error) { return 0, errLinux }

func machineTime() (time.Duration, error) { return 0, errLinux }

func anonymous(int) (int64, error) { return 0, errLinux }

func fileSystem(string) string { return "unknown" }

func processor() string { return runtime.GOARCH }

func kernel() (release, loads string) { return runtime.GOOS, "unknown" }
