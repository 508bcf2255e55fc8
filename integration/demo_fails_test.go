package integration

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"fencegate/integration/harness"
)

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
	t.Run("a store that refuses a write", func(t *testing.T) {
		t.Parallel()
		// There is a second for it, while A is paused. Whoever misses that has
		// seen a demonstration without a fault.
		for range 5 {
			d := startDemo(t)
			d.AwaitLine(`A writes "from A"`)
			d.putDirectoryInPlace(t)
			if d.Wait() == 0 {
				continue
			}
			said, why := strings.Join(d.Stdout(), "\n"), strings.Join(d.Stderr(), "\n")
			if code := d.Wait(); code != 1 || !strings.Contains(said, "✗") || !strings.Contains(why, "did not go as told") {
				t.Errorf("exit code %d and %q, want 1, a step marked ✗ and that it did not go as told", code, why)
			}
			d.leavesNothing(t)
			return
		}
		t.Error("it says that all went well although a write was refused")
	})
}

// putDirectoryInPlace replaces the demo's object by a directory, which no write
// replaces.
func (d *demo) putDirectoryInPlace(t testing.TB) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.temp, "fencegate-demo-*", "data", report))
	if err != nil || len(found) != 1 {
		t.Fatalf("the demo keeps its object in %v, %v", found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(found[0], 0o777); err != nil {
		t.Fatal(err)
	}
}
