package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The signal that ends a child with us is sent when the thread that started it
// ends, see https://go.dev/issue/27505: children are started by main, which
// stays on its thread.
func init() { runtime.LockOSThread() }

// bind ends cmd with us, in an orderly way: a killed nginx would leave its
// workers.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// tick is the unit of CPU time in /proc, which is the same on all platforms
// that Go runs on.
const tick = time.Second / 100

// cpuTime returns the CPU time that a process and its children have used, user
// and system.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	total, err := parseStat(stat)
	if err != nil {
		return 0, err
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, err
	}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return 0, err
		}
		for _, child := range strings.Fields(string(children)) {
			id, err := strconv.Atoi(child)
			if err != nil {
				return 0, err
			}
			used, err := cpuTime(id)
			if err != nil {
				return 0, err
			}
			total += used
		}
	}
	return total, nil
}

// parseStat reads utime and stime, fields 14 and 15 of /proc/PID/stat. The
// second field, the name in parentheses, may hold anything: proc(5).
func parseStat(stat []byte) (time.Duration, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat has too few fields: %q", stat)
	}
	return parseTicks(fields[11:13])
}

// machineTime returns the CPU time that all processes have used, and the
// interrupts. What the kernel's own threads have used is left out: they write to
// the disk for whoever is measured.
func machineTime() (time.Duration, error) {
	all, err := allTime()
	if err != nil {
		return 0, err
	}
	kernel, err := kernelTime()
	return all - kernel, err
}

// kthreadd is the parent of all threads of the kernel. In a container it is
// somebody else, or nobody.
const kthreadd = 2

func kernelTime() (total time.Duration, err error) {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", kthreadd))
	if err != nil || string(bytes.TrimSpace(name)) != "kthreadd" {
		return 0, nil
	}
	threads, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", kthreadd))
	if err != nil {
		return 0, err
	}
	for _, id := range strings.Fields(string(threads)) {
		stat, err := os.ReadFile("/proc/" + id + "/stat")
		if err != nil {
			continue // it has ended
		}
		used, err := parseStat(stat)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

func allTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line) // cpu user nice system idle iowait irq softirq …
	if len(fields) < 8 || string(fields[0]) != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	return parseTicks([][]byte{fields[1], fields[2], fields[3], fields[6], fields[7]})
}

// anonymous returns the memory of a process that is in no file: RssAnon, in bytes.
func anonymous(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseAnonymous(status)
}

func parseAnonymous(status []byte) (kib int64, err error) {
	_, after, found := bytes.Cut(status, []byte("\nRssAnon:"))
	if _, err := fmt.Sscanf(string(after), "%d kB", &kib); !found || err != nil {
		return 0, fmt.Errorf("/proc/PID/status has no RssAnon: %q", status)
	}
	return kib << 10, nil
}

func parseTicks(fields [][]byte) (total time.Duration, err error) {
	for _, f := range fields {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(n) * tick
	}
	return total, nil
}

// fileSystem names the file system of path, as far as it matters here.
func fileSystem(path string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return err.Error()
	}
	switch int64(s.Type) {
	case unix.TMPFS_MAGIC:
		return "tmpfs (nothing is durable there: rising tokens cost too little)"
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	}
	return fmt.Sprintf("%#x", s.Type)
}

// processor names the CPU.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.SplitSeq(string(info), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// kernel returns its version and the load averages.
func kernel() (release, loads string) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		release = unix.ByteSliceToString(u.Release[:])
	}
	text, _ := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); len(f) >= 3 {
		loads = strings.Join(f[:3], " ")
	}
	return release, loads
}
