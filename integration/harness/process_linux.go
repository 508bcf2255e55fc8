package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// ownGroup puts cmd into a process group of its own and ties its life to ours.
// It keeps what the caller has set, such as another user.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
}

// spawn starts cmd from a thread that lives as long as the process: Pdeathsig
// is sent when the thread that forked ends, see https://go.dev/issue/27505.
func spawn(cmd *exec.Cmd) error {
	answer := make(chan error)
	spawner() <- func() { answer <- cmd.Start() }
	return <-answer
}

var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// threadStates returns the state letter of every thread of a process, and
// whether all are stopped.
func threadStates(pid int) (states any, stopped bool) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		return "no such process", false
	}
	var letters string
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has just ended
		}
		// "pid (name) S …", where the name may hold anything: proc(5).
		if _, after, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " "); ok {
			letters += after[:1]
		}
	}
	return letters, letters != "" && strings.Trim(letters, "T") == ""
}
