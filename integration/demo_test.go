package integration

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

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

// What a demo claims it must have seen: when a step fails, so does the demo.
func TestDemoFailsWhenAStepDoes(t *testing.T) {
	t.Parallel()
	t.Run("no Redis there", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		d := startDemo(t, "--redis", l.Addr().String())
		if code := d.Wait(); code != 69 {
			t.Errorf("exit code %d, want 69", code)
		}
		if said := strings.Join(d.Stderr(), "\n"); strings.Count(said, "\n") != 0 || !strings.Contains(said, l.Addr().String()) {
			t.Errorf("it says %q, want one line with the address", said)
		}
		d.leavesNothing(t)
	})
	t.Run("a Redis that gives no tokens", func(t *testing.T) {
		t.Parallel()
		r := harness.Redis(t)
		rdb := redis.NewClient(&redis.Options{Addr: r.Addr()})
		defer rdb.Close()
		if err := rdb.Set(context.Background(), counterKey, "no number", 0).Err(); err != nil {
			t.Fatal(err)
		}
		d := startDemo(t, "--redis", r.Addr())
		if code := d.Wait(); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		if said := strings.Join(d.Stderr(), "\n"); !strings.Contains(said, "the token counter does not hold a number") {
			t.Errorf("it says %q, which does not tell the cause", said)
		}
		d.leavesNothing(t)
	})
	t.Run("told to end while A is paused", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t)
		d.AwaitLine("A is paused")
		if err := syscall.Kill(d.PID(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := d.Wait(); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		d.leavesNothing(t)
	})
}
