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

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "fencegate")
	// No stamp of the repository's state: it would need git to trust the clone.
	args := []string{"build", "-buildvcs=false", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, program)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("fencegate cannot be built: %w\n%s", err, out)
	}
	return path, nil
})
