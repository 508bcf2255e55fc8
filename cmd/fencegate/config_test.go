package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fencegate runs a command line without its program's name.
func fencegate(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(args, streams{&out, &err})
	return out.String(), err.String(), code
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in testdata: %v", pattern, err)
	}
	return found
}

func content(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each bad file has all its faults told, and nothing else.
func TestBadFiles(t *testing.T) {
	t.Chdir("testdata") // the messages name the files
	found, err := filepath.Glob("*.bad.yml")
	if err != nil || len(found) < 20 {
		t.Fatalf("found %d bad files, %v", len(found), err)
	}
	for _, file := range found {
		want := content(t, strings.TrimSuffix(file, ".yml")+".txt")
		for _, args := range [][]string{{"config", "check", file}, {"config", "print", "--config", file}, {"serve", "--config", file}} {
			out, stderr, code := fencegate(t, args...)
			if code != exitConfig || out != "" || stderr != want {
				t.Errorf("%q ends with %d and says\n%s%s, want\n%s", args, code, out, stderr, want)
			}
		}
	}
	// The environment and flags do not hide what is wrong in a file.
	t.Setenv("FENCEGATE_LISTEN", "127.0.0.1:1")
	if _, stderr, code := fencegate(t, "config", "print", "--config", "same.bad.yml"); code != exitOK {
		t.Errorf("a value that is overridden is not used: %s", stderr)
	}
	if _, stderr, code := fencegate(t, "config", "print", "--config", "windows.bad.yml"); code != exitConfig || stderr != content(t, "windows.bad.txt") {
		t.Errorf("a faulty value that is overridden is not told: %s", stderr)
	}
}

// What a good file means is printed, and the print means the same.
func TestGoodFiles(t *testing.T) {
	dir := t.TempDir() // with the files that are named
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	writePair(t, "ca.pem", "c.pem", "k.pem")
	good, err := filepath.Glob("*.good.yml")
	if err != nil || len(good) == 0 {
		t.Fatalf("found %d good files, %v", len(good), err)
	}
	for _, file := range good {
		if out, stderr, code := fencegate(t, "config", "check", file); code != exitOK || out != "ok\n" || stderr != "" {
			t.Errorf("%s: %d %s%s", file, code, out, stderr)
		}
		printed := strings.TrimSuffix(file, ".good.yml") + ".printed.yml"
		want := content(t, printed)
		for _, file := range []string{file, printed} {
			if out, stderr, code := fencegate(t, "config", "print", "--config", file); code != exitOK || out != want {
				t.Errorf("%s is printed as %d\n%s%s, want\n%s", file, code, stderr, out, want)
			}
		}
		if out, stderr, code := fencegate(t, "config", "check", printed); code != exitOK || out != "ok\n" {
			t.Errorf("%s: %d %s%s", printed, code, out, stderr)
		}
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), maxConfig+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none.yml"): "no such file",
		dir:                            "is a directory",
		large:                          "larger than 256 KiB",
	} {
		if _, stderr, code := fencegate(t, "config", "check", file); code != exitConfig || !strings.Contains(stderr, file) || !strings.Contains(stderr, want) {
			t.Errorf("%d %s, want 78 %q", code, stderr, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"config"}, "expected one of"},
		{[]string{"config", "check"}, "<file>"},
		{[]string{"config", "print", "--settel", "1s"}, "unknown flag --settel"},
		{[]string{"config", "print", "file.yml"}, "unexpected argument"},
		{[]string{"config", "explain", "GET"}, "<url>"},
		{[]string{"config", "explain", "GET", "reports/q3.csv"}, "expected a URL"},
		{[]string{"serve", "--routes", "x"}, "unknown flag --routes"},
	} {
		if _, stderr, code := fencegate(t, c.args...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: %d %s, want 64 %q", c.args, code, stderr, c.want)
		}
	}
}
