package main

import (
	"os"
	"strings"
	"testing"
)

// Whatever a file holds, reading it ends: with faults that stand on one line
// each, or with a configuration whose print means the same.
func FuzzConfigFile(f *testing.F) {
	for _, file := range append(files(f, "*.yml"), files(f, "*.txt")...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4<<10 {
			return // the parser's time rises with the square of the depth
		}
		c, err := parseConfig("f.yml", text, nil)
		if err != nil {
			checkFaults(t, err)
			return
		}
		printed := c.yaml()
		again, err := parseConfig("f.yml", []byte(printed), nil)
		if err != nil {
			t.Fatalf("the print of an accepted file is refused: %v\n%s", err, printed)
		}
		if twice := again.yaml(); twice != printed {
			t.Fatalf("printed again it is\n%s, was\n%s", twice, printed)
		}
	})
}

func checkFaults(t *testing.T, err error) {
	if exitCode(err) != exitConfig {
		t.Errorf("exit code %d for %v", exitCode(err), err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > 1 {
		if !strings.HasSuffix(lines[0], "faults in the configuration:") {
			t.Fatalf("a fault has several lines: %q", err)
		}
		lines = lines[1:]
	}
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "f.yml:") && !strings.HasPrefix(strings.TrimSpace(line), "--") {
			t.Errorf("a fault does not tell where: %q", line)
		}
	}
}
