package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/integration/harness"
)

// demo is a running fencegate demo, with a directory of its own for what it
// makes.
type demo struct {
	*harness.Process
	temp string
}

func startDemo(t testing.TB, args ...string) *demo {
	t.Helper()
	d := &demo{temp: t.TempDir()}
	cmd := exec.Command(harness.Build(t), append([]string{"demo"}, args...)...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "FENCEGATE_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+d.temp)
	d.Process = harness.Start(t, "demo", cmd)
	return d
}

// leavesNothing checks that directories and processes are gone. Its group has
// only what the demo started, since the demo itself has been waited for.
func (d *demo) leavesNothing(t testing.TB) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(d.temp, "*")); err != nil || left != nil {
		t.Errorf("it leaves %v, %v", left, err)
	}
	harness.Eventually(t, "the demo's processes to end", func() (any, bool) {
		err := syscall.Kill(-d.PID(), 0)
		return err, err == syscall.ESRCH
	})
}

// Both acts, with the stand-in and with a real Redis: the late write gets
// through without the fence, and is refused with it.
func TestDemoTellsBothActs(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]func(t *testing.T) []string{
		"with a stand-in":   func(*testing.T) []string { return nil },
		"with a real Redis": func(t *testing.T) []string { return []string{"--redis", harness.Redis(t).Addr()} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := startDemo(t, args(t)...)
			if code := d.Wait(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			for _, part := range []string{
				"1. Without the fence", `✓ A writes "from A, late": 204`, `✓ /reports/q3.csv now holds "from A, late"`,
				"2. With the fence", `✓ A writes "from A, late": 412 stale_token`, `✓ /reports/q3.csv now holds "from B"`,
				"fencegate_rejections_total{reason=stale_token,route=default} +2",
			} {
				d.AwaitLine(part) // in this order
			}
			if said := strings.Join(d.Stdout(), "\n"); strings.Contains(said, "✗") {
				t.Errorf("it succeeds although a step went wrong")
			}
			if said := d.Stderr(); len(said) != 0 {
				t.Errorf("it complains: %q", said)
			}
			d.leavesNothing(t)
		})
	}
}
