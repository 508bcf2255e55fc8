package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Command returns the command that the next start would run, for a start that
// is meant to fail: Start(t, "fencegate", s.Command()).Wait().
func (s *Server) Command() *exec.Cmd {
	args := []string{"serve"}
	for _, d := range []struct{ flag, value string }{
		{"--upstream", "dir:" + s.Data},
		{"--state", s.State},
		{"--listen", orFreePort(s.data)},
		{"--admin", orFreePort(s.admin)},
		{"--protocol", "plain"}, // a PUT makes the directories above it
	} {
		if _, given := argument(s.args, d.flag); !given {
			args = append(args, d.flag, d.value)
		}
	}
	// Never later: a ledger that got lost must not be replaced unnoticed.
	if _, err := os.Stat(filepath.Join(s.State, "ledger.db")); err != nil && s.proc == nil {
		args = append(args, "--init")
	}
	cmd := exec.Command(s.path, append(args, s.args...)...)
	cmd.Env = cleanEnv()
	return cmd
}

// argument finds a flag's value in "--flag value" or "--flag=value".
func argument(args []string, flag string) (string, bool) {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value, true
		}
		if arg == flag && i+1 < len(args) {
			return args[i+1], true
		}
	}
	return "", false
}

func orFreePort(addr string) string {
	if addr == "" {
		return "127.0.0.1:0"
	}
	return addr
}

// cleanEnv is the test's environment without what fencegate would read as its
// configuration. The race detector ends children with a code that is none of
// fencegate's own, and without its usual second of waiting.
func cleanEnv() []string {
	env := []string{"GORACE=exitcode=86 atexit_sleep_ms=20"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "FENCEGATE_") && !strings.HasPrefix(entry, "GORACE=") {
			env = append(env, entry)
		}
	}
	return env
}
