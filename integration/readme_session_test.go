package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The session itself: steps see what earlier ones left, what they start in the
// background ends, and the first that fails is named.
func TestReadmeSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := []step{
		{1, "word=hello\nmkdir sub && cd sub\nsleep 1000 & echo $! >pid\n", nil},
		{5, "echo $word token $(basename $PWD)\n", []string{"hello token …"}},
	}
	printed, code := typed(t, dir, good)
	if faults := sessionFaults(good, printed, code); faults != nil {
		t.Errorf("it complains: %q", faults)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "sub", "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("what was started in the background runs on")
	}
	for want, bad := range map[string][]step{
		"README.md:7: the commands end with 3": {{1, "true\n", nil}, {7, "(exit 3)\necho on\n", nil}, {9, "echo never\n", nil}},
		`README.md:7: "b" is not printed`:      {{7, "echo a\n", []string{"b"}}},
	} {
		printed, code := typed(t, dir, bad)
		if faults := sessionFaults(bad, printed, code); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("it says %q, want %q", faults, want)
		}
	}
}

// What the README has a reader make is looked for in code only: prose may "make
// sure".
var (
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	makeTarget = regexp.MustCompile(`\bmake ([a-z-]+)`)
	targetLine = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

func TestReadmeNamesMakeTargetsThatExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range targetLine.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	text := readme(t)
	code := inlineCode.FindAllString(text, -1)
	for _, b := range codeBlocks(text) {
		code = append(code, b.text)
	}
	named := makeTarget.FindAllStringSubmatch(strings.Join(code, "\n"), -1)
	if len(named) == 0 {
		t.Error("the README names no make target")
	}
	for _, m := range named {
		if !targets[m[1]] {
			t.Errorf("the README says make %s, which the Makefile does not know", m[1])
		}
	}
}
