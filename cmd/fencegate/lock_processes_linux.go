package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is what /proc tells of one.
type process struct{ pid, parent, group, session int }

// processes returns all that there are.
func processes() (found []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has just ended
		}
		// "pid (name) S parent group session …", where the name may hold anything: proc(5).
		p := process{pid: pid}
		_, err = fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %s %d %d %d", new(string), &p.parent, &p.group, &p.session)
		if err == nil {
			found = append(found, p)
		}
	}
	return found
}

// children returns the processes whose parent is this one.
func children() []process {
	return slices.DeleteFunc(processes(), func(p process) bool { return p.parent != os.Getpid() })
}

// descendants returns this process' children, theirs, and so on.
func descendants() (found []process) {
	all := processes()
	for parents := []int{os.Getpid()}; len(parents) > 0; {
		var next []int
		for _, p := range all {
			if slices.Contains(parents, p.parent) {
				found = append(found, p)
				next = append(next, p.pid)
			}
		}
		parents = next
	}
	return found
}

// orphaned reports whether fencegate's process group has no shell above it,
// which could let it go on.
func orphaned() bool {
	all := processes()
	own := unix.Getpgrp()
	for _, p := range all {
		if p.group == own && slices.ContainsFunc(all, func(q process) bool {
			return q.pid == p.parent && q.session == p.session && q.group != own
		}) {
			return false
		}
	}
	return true
}

// stop stops whatever descends from the command, also who has left its group
// while the parent lives: nobody looks after the lease then.
func (w *watch) stop() {
	w.signal(syscall.SIGSTOP)
	// Who is not stopped yet may start others meanwhile.
	for told, more := map[int]bool{}, true; more; {
		more = false
		for _, p := range descendants() {
			if !told[p.pid] {
				told[p.pid], more = true, true
				_ = syscall.Kill(p.pid, syscall.SIGSTOP)
			}
		}
	}
}

// unstop continues what stop has stopped.
func (w *watch) unstop() {
	w.signal(syscall.SIGCONT)
	for _, p := range descendants() {
		_ = syscall.Kill(p.pid, syscall.SIGCONT)
	}
}
