//go:build unix && !linux

package harness

import (
	"os/exec"
	"syscall"
)

// ownGroup puts cmd into a process group of its own. That it dies with us is
// Linux's alone; elsewhere only the tests' cleanup ends it.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

func spawn(cmd *exec.Cmd) error { return cmd.Start() }

func threadStates(int) (any, bool) { return "unknown", true }
