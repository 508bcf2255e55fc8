package harness

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Workers are programs that a test binary can be instead of running its tests:
// lock holders that a test pauses or kills, which it cannot do to itself. Each
// gets its arguments and returns its exit code.
type Workers map[string]func(args []string) int

// workerEnv names the worker to be.
const workerEnv = "FENCEGATE_TEST_WORKER"

var (
	ownWorkers Workers
	buildDir   string // "" until Main runs
)

// Main is what TestMain calls. It becomes a worker when asked to; else it runs
// the tests and removes what Build made.
func Main(m *testing.M, workers Workers) {
	if name := os.Getenv(workerEnv); name != "" {
		os.Exit(workers[name](os.Args[1:]))
	}
	ownWorkers = workers
	dir, err := os.MkdirTemp("", "fencegate-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Another user must be able to run what Build puts there.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Worker starts the named worker as a process. Process.Send reaches its
// standard input.
func Worker(t testing.TB, name string, args ...string) *Process {
	t.Helper()
	if ownWorkers[name] == nil {
		t.Fatalf("TestMain gave harness.Main no worker %q", name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(cleanEnv(), workerEnv+"="+name, soakEnv+"="+os.Getenv(soakEnv))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := Start(t, name, cmd)
	p.stdin = stdin
	return p
}
