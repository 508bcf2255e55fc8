package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

func readme(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What the README tells a reader to type works, in its order, in one shell, in
// a fresh copy of the repository; and prints what the README says.
func TestReadmeWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and serves what the README says")
	}
	all := steps(codeBlocks(readme(t)))
	if len(all) == 0 {
		t.Fatal("the README has no command to type")
	}
	for _, port := range []string{"8080", "8081", "8082"} {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatalf("the README's commands need port %s, which is not free here: %v", port, err)
		}
		l.Close()
	}
	printed, code := typed(t, copyOfTree(t), all)
	for _, fault := range sessionFaults(all, printed, code) {
		t.Error(fault)
	}
}

// typed types the steps into one bash, and returns what that prints and its
// exit code.
func typed(t testing.TB, dir string, all []step) (printed []string, code int) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "session")
	if err := os.WriteFile(script, []byte(session(all)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", script)
	cmd.Dir = dir
	p := harness.Start(t, "README", cmd)
	select {
	case <-p.Exited():
	case <-time.After(5 * time.Minute):
		t.Fatal("the README's commands do not come to an end")
	}
	return p.Stdout(), p.Wait()
}

// sessionFaults returns what went otherwise than the README says, up to the
// step that failed.
func sessionFaults(all []step, printed []string, code int) (faults []string) {
	for i, s := range all {
		begin, end := slices.Index(printed, marker("begin", i)), slices.Index(printed, marker("end", i))
		if end < 0 {
			return append(faults, fmt.Sprintf("README.md:%d: the commands end with %d:\n%s", s.line, code, strings.Join(printed[begin+1:], "\n")))
		}
		for _, line := range notPrinted(s.prints, printed[begin+1:end]) {
			faults = append(faults, fmt.Sprintf("README.md:%d: %q is not printed, but:\n%s", s.line, line, strings.Join(printed[begin+1:end], "\n")))
		}
	}
	if code != 0 {
		faults = append(faults, fmt.Sprintf("the session ends with %d", code))
	}
	return faults
}

func marker(what string, i int) string { return fmt.Sprintf("@@ %s %d", what, i) }

// session is the script of a reader who types all steps, looks at what is
// printed, and ends what was started in the background.
func session(all []step) string {
	var b strings.Builder
	b.WriteString("set -e\nexec </dev/null 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null || :; wait' EXIT\n")
	for i, s := range all {
		fmt.Fprintf(&b, "echo '%s'\n%s", marker("begin", i), s.commands)
		// A reader takes a moment before typing on.
		if background.MatchString(s.commands) {
			b.WriteString("for _ in $(seq 600); do curl -fs http://127.0.0.1:8081/readyz >/dev/null && break; sleep 0.05; done\n")
		}
		fmt.Fprintf(&b, "printf '\\n%s\\n'\n", marker("end", i))
	}
	return b.String()
}

// background matches a server that is left running.
var background = regexp.MustCompile(`(?m)(serve|make run).*&$`)

// copyOfTree copies what is in the repository, or would be after "git add".
func copyOfTree(t testing.TB) string {
	t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = top
	list, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	dir := t.TempDir()
	for file := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		copyFile(t, filepath.Join(top, file), filepath.Join(dir, file))
	}
	return dir
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return // removed, not yet committed
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}
