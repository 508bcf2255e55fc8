package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/integration/harness"
)

// place is where a start that is meant to fail happens: a state directory, a
// data directory, and how fencegate serve is called there. Shown by all these
// starts: S6 fail closed, and that the operator is told what is wrong and what
// to do in one line.
type place struct {
	t           testing.TB
	state, data string
	args        []string
	uid         uint32 // another user than ours; 0 for ours
}

// newPlace is one where nothing has ever been.
func newPlace(t testing.TB) *place {
	t.Helper()
	dir := t.TempDir()
	// Another user must be able to reach it.
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &place{t: t, state: filepath.Join(dir, "state"), data: filepath.Join(dir, "data")}
}

// usedPlace is a copy of where s has been, which has stopped.
func usedPlace(t testing.TB, s *harness.Server) *place {
	t.Helper()
	p := newPlace(t)
	for from, to := range map[string]string{s.State: p.state, s.Data: p.data} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// stoppedServer has made a ledger with marks, and has ended.
func stoppedServer(t testing.TB) *harness.Server {
	t.Helper()
	s := harness.Fencegate(t)
	says(t, s, "201", "PUT", report, stampOf(7, "holder"), "seven")
	if code := s.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	return s
}

func (p *place) ledger() string { return filepath.Join(p.state, "ledger.db") }

func (p *place) command() *exec.Cmd {
	args := []string{"serve", "--upstream", "dir:" + p.data, "--state", p.state, "--protocol", "plain"}
	// kong takes the last of two.
	cmd := exec.Command(harness.Build(p.t), append(append(args, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"), p.args...)...)
	if p.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.uid, Gid: p.uid}}
	}
	return cmd
}

// fails starts fencegate, checks that it ends with code and with one line for
// each of wants, which names all its words, and that no mark was touched.
func (p *place) fails(code int, wants ...[]string) {
	p.t.Helper()
	before := contentIfAny(p.t, p.ledger())
	process := harness.Start(p.t, "fencegate", p.command())
	if got := process.Wait(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
	lines := process.Stderr()
	if len(lines) > 1 && strings.HasSuffix(lines[0], ":") {
		lines = lines[1:] // the head of a list of faults
	}
	if len(lines) != len(wants) || len(process.Stdout()) != 0 {
		p.t.Fatalf("%d lines on stderr, want %d: %q; on stdout: %q", len(lines), len(wants), lines, process.Stdout())
	}
	for i, want := range wants {
		for _, word := range want {
			if !strings.Contains(lines[i], word) {
				p.t.Errorf("line %q does not say %q", lines[i], word)
			}
		}
		if strings.Contains(lines[i], "panic") || strings.Contains(lines[i], "goroutine") {
			p.t.Errorf("line %q is for programmers", lines[i])
		}
	}
	if after := contentIfAny(p.t, p.ledger()); !bytes.Equal(before, after) || (before == nil) != (after == nil) {
		p.t.Errorf("the ledger had %d bytes, now %d: a start that fails must leave it as it is", len(before), len(after))
	}
}

// contentIfAny returns nil for a file that does not exist.
func contentIfAny(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{}, content...)
}
