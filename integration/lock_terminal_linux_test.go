package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fencegate/integration/harness"
)

// terminal is a pseudo terminal whose screen a test reads and on which it types.
type terminal struct {
	t      testing.TB
	master *os.File
	mu     sync.Mutex
	screen bytes.Buffer
	seen   int // what awaits has passed
}

// newTerminal starts cmd as the first process on a new terminal.
func newTerminal(t testing.TB, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	term := &terminal{t: t, master: master}
	go term.read()
	t.Cleanup(func() {
		master.Close() // hangs up, which ends whatever is there
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the screen shows:\n%s", term.text(0))
		}
	})
	return term
}

func (m *terminal) read() {
	for buffer := make([]byte, 4096); ; {
		n, err := m.master.Read(buffer)
		m.mu.Lock()
		m.screen.Write(buffer[:n])
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (m *terminal) text(from int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.screen.String()[from:]
}

// shows waits until text stands behind what was shown before.
func (m *terminal) shows(text string) {
	m.t.Helper()
	harness.Eventually(m.t, fmt.Sprintf("%q on the screen", text), func() (any, bool) {
		shown := m.text(m.seen)
		i := strings.Index(shown, text)
		if i >= 0 {
			m.seen += i + len(text)
		}
		return shown, i >= 0
	})
}

func (m *terminal) types(text string) {
	m.t.Helper()
	if _, err := m.master.WriteString(text); err != nil {
		m.t.Fatal(err)
	}
}

// newShell is a terminal with a shell whose prompt shows the exit code before.
func newShell(t testing.TB) *terminal {
	t.Helper()
	shell := exec.Command("bash", "--norc", "--noprofile", "-i")
	shell.Env = append(os.Environ(), "PS1=ready> ", "TERM=dumb")
	m := newTerminal(t, shell)
	m.shows("ready> ")
	m.types("PS1='$? > '\n")
	m.shows("0 > ")
	return m
}

// On a terminal a command under a lock is like any other: it reads what is
// typed, Ctrl-C is for it, and the shell has the terminal again afterwards.
// Ctrl-Z stops both; fg lets both go on while the lease holds.
func TestLockOnATerminal(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	lock := strings.Join(s.lockCommand("--ttl", "10m", "--", "bash", "-c").Args, " ")
	m := newShell(t)
	m.types(lock + ` 'echo ask; read line; echo "got:$line"'` + "\n")
	m.shows("ask\r\n")
	m.types("typed\n")
	m.shows("got:typed")
	m.shows("0 > ")

	m.types(lock + ` 'echo run; while :; do sleep 0.02; done'` + "\n")
	m.shows("run\r\n")
	m.types("\x03")
	m.shows("130 > ")

	m.types(lock + ` 'echo run; read line; echo "got:$line"'` + "\n")
	m.shows("run\r\n")
	m.types("\x1a")
	m.shows("Stopped")
	m.shows(" > ")
	m.types("echo $((6*7))\n") // the shell has the terminal
	m.shows("42\r\n")
	m.types("fg\n")
	m.types("typed on\n")
	m.shows("got:typed on")
	m.shows("0 > ")
}

// A script on a terminal, which has no jobs, can read what is typed once a
// command under a lock has ended.
func TestLockInAScriptOnATerminal(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	lock := strings.Join(s.lockCommand("--", "true").Args, " ")
	m := newTerminal(t, exec.Command("bash", "-c", lock+`; echo ask; read line; echo "got:$line"`))
	m.shows("ask\r\n")
	m.types("typed\n")
	m.shows("got:typed")
}

// Stopped for longer than the lease, the command is over when fencegate goes on.
func TestLockOnATerminalIsStoppedPastItsLease(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	lock := strings.Join(s.lockCommand("--ttl", "1s", "--", "bash", "-c").Args, " ")
	m := newShell(t)
	m.types(lock + ` 'echo run; while :; do sleep 0.02; done'` + "\n")
	m.shows("run\r\n")
	m.types("\x1a")
	m.shows("Stopped")
	s.awaitFree(report)
	m.types("fg\n")
	m.shows("fencegate: the lock on " + report)
	m.shows("76 > ")
}

// A command whose standard input is a pipe, and that asks for the terminal by
// itself, gets it; from the background it is stopped like any other, and fg
// gives it what it asked for.
func TestLockOnAPipeAndATerminal(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	lock := ": | " + strings.Join(s.lockCommand("--ttl", "10m", "--", "bash", "-c").Args, " ") +
		` 'echo run; read line </dev/tty; echo "got:$line"'`
	m := newShell(t)
	m.types(lock + "\n")
	m.shows("run\r\n")
	m.types("typed\n")
	m.shows("got:typed")
	m.shows("0 > ")

	m.types("set -b\n") // tells of jobs at once
	m.shows("0 > ")
	m.types(lock + " &\n")
	m.shows("Stopped")
	m.types("fg\n")
	m.types("typed on\n")
	m.shows("got:typed on")
	m.shows("0 > ")
}

// Where no shell can let it go on, such a command is ended instead of being
// stopped while the lock is held.
func TestLockInTheBackgroundOfNoShell(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	lock := strings.Join(s.lockCommand("--ttl", "10m", "--", "bash", "-c").Args, " ") + ` 'read line </dev/tty'`
	// The shell with jobs puts fencegate into the background and is gone.
	m := newTerminal(t, exec.Command("bash", "-c", `bash -c 'set -m; (`+strings.ReplaceAll(lock, "'", `'\''`)+` </dev/null; echo "code:$?") &'; sleep 1000`))
	m.shows("it is ended")
	m.shows("code:143")
}
