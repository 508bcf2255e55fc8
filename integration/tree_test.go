package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// top is the top of the repository as tests of this package see it.
const top = ".."

// atTop is everything that may lie there.
var atTop = []string{
	".ci", ".gitignore", "Dockerfile", "Makefile", "README.md", "cmd", "fence", "go.mod", "go.sum",
	"integration", "lockclient", "proxy", "store",
}

// vague are the words that say nothing of what a file holds.
var vague = []string{"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"}

// out must not be in any file: where somebody's machine keeps things, where
// packages are fetched from, how the work was organised. They are taken apart
// so that this file passes.
var out = []string{
	"/wo" + "rk/", "/fa" + "rm/", ".lib" + "rary", "../sh" + "ared",
	"issue" + " #", "this" + " session", "last" + " session", "previous" + " session", "sub" + "agent",
	"golang" + ".org/dl", "proxy.golang" + ".org", "sum.golang" + ".org", "debian" + ".org", "npmjs" + ".org",
	"docker" + ".io", "gcr" + ".io", "ghcr" + ".io", "quay" + ".io",
}

var nameWords = regexp.MustCompile(`[a-z0-9]+`)

// strayName says why a file may not have its name, or "".
func strayName(file string) string {
	first, _, _ := strings.Cut(file, "/")
	if !slices.Contains(atTop, first) {
		return fmt.Sprintf("%s: %s does not belong at the top", file, first)
	}
	for _, word := range nameWords.FindAllString(strings.ToLower(file), -1) {
		if slices.Contains(vague, word) {
			return fmt.Sprintf("%s: %q says nothing; name it for what it holds", file, word)
		}
	}
	return ""
}

// strayWords returns a line for every text in content that has to stay out.
func strayWords(file string, content []byte) []string {
	var stray []string
	for number, line := range bytes.Split(bytes.ToLower(content), []byte("\n")) {
		for _, word := range out {
			if bytes.Contains(line, []byte(word)) {
				stray = append(stray, fmt.Sprintf("%s:%d: %q does not belong here", file, number+1, word))
			}
		}
	}
	return stray
}

func TestTreeIsTidy(t *testing.T) {
	for _, file := range trackedFiles(t) {
		if why := strayName(file); why != "" {
			t.Error(why)
		}
		content, err := os.ReadFile(filepath.Join(top, file))
		if os.IsNotExist(err) {
			continue // removed, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strayWords(file, content) {
			t.Error(line)
		}
	}
}

func TestStrayFilesAreFound(t *testing.T) {
	for file, want := range map[string]bool{
		"fence/gate.go":             false,
		".ci/run":                   false,
		"internal/x.go":             true,
		"notes.txt":                 true,
		"proxy/util.go":             true,
		"proxy/common/x.go":         true,
		"lockclient/lock_helper.go": true,
		"store/Manager.go":          true,
		"proxy/utility.go":          false,
	} {
		if why := strayName(file); (why != "") != want {
			t.Errorf("%s: got %q, want a complaint: %v", file, why, want)
		}
	}
	for _, word := range out {
		content := []byte("first\n// see " + strings.ToUpper(word) + "12\n")
		if got := strayWords("a.go", content); len(got) == 0 || !strings.HasPrefix(got[0], "a.go:2: ") {
			t.Errorf("%q: got %q, want one complaint about line 2", word, got)
		}
	}
	if got := strayWords("a.go", []byte("// see https://go.dev/issue/27505\n")); got != nil {
		t.Errorf("a public issue is a good reason, got %q", got)
	}
}

// trackedFiles lists what is in the repository, with paths from its top.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	// A clone made by another user is as good as any.
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z")
	cmd.Dir = top
	list, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v; these tests need the repository and git", err)
	}
	files := strings.Split(strings.TrimRight(string(list), "\x00"), "\x00")
	if len(files) < 5 {
		t.Fatalf("git ls-files found only %q", files)
	}
	return files
}
