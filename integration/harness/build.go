package harness

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const program = "fencegate/cmd/fencegate"

// Build compiles fencegate, once per test binary and with the race detector if
// the tests have it, and returns the path of the executable.
func Build(t testing.TB) string {
	t.Helper()
	if buildDir == "" {
		t.Fatal("TestMain has to call harness.Main, which removes the binary in the end")
	}
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// FencegateAsShipped is Fencegate without the race detector, for what is measured:
// that takes many times the memory.
func FencegateAsShipped(t testing.TB, args ...string) *Server {
	t.Helper()
	if !raceEnabled {
		return Fencegate(t, args...)
	}
	Build(t) // complains where Main does not run
	path, err := buildAsShipped()
	if err != nil {
		t.Fatal(err)
	}
	return newServer(t, path, args)
}

var (
	build          = sync.OnceValues(func() (string, error) { return buildWith("fencegate", raceEnabled) })
	buildAsShipped = sync.OnceValues(func() (string, error) { return buildWith("fencegate-as-shipped", false) })
)

func buildWith(name string, race bool) (string, error) {
	path := filepath.Join(buildDir, name)
	// No stamp of the repository's state: it would need git to trust the clone.
	args := []string{"build", "-buildvcs=false", "-o", path}
	if race {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, program)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("fencegate cannot be built: %w\n%s", err, out)
	}
	return path, nil
}
