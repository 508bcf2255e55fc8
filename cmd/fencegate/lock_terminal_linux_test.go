package main

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// remaining is a lease of which so much is left.
type remaining time.Duration

func (r remaining) Remaining() time.Duration { return time.Duration(r) }

// A command that was stopped with its terminal goes on while the lease holds,
// and not for a moment afterwards.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		left remaining
		want string
	}{{remaining(time.Minute), "went on\n"}, {0, ""}} {
		cmd := exec.Command("bash", "-c", "kill -STOP $$; echo went on")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("it is not stopped: %v, %v", status, err)
		}
		w := &watch{lease: c.left, pace: newPace(time.Second, 0), child: cmd.Process.Pid, paused: true}
		w.resume()
		if c.want == "" {
			// Had it been let go on, it would be no more stopped, or have ended.
			if pid, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WNOHANG|syscall.WCONTINUED, nil); pid != 0 || err != nil {
				t.Errorf("the command goes on after its lease: %v, %v", status, err)
			}
			_ = cmd.Process.Kill()
		}
		got, _ := bufio.NewReader(out).ReadString('\n')
		if got != c.want {
			t.Errorf("with %s left it prints %q, want %q", c.left.Remaining(), got, c.want)
		}
		_ = cmd.Wait()
	}
}
