package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile, its continued lines joined.
type instruction struct {
	line  int
	name  string // in capitals
	flags map[string]string
	rest  string // behind the flags
}

// list returns the JSON form of a command, which runs without a shell.
func (i instruction) list() ([]string, error) {
	text := i.rest
	if i.name == "HEALTHCHECK" {
		text = strings.TrimSpace(strings.TrimPrefix(text, "CMD"))
	}
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		return nil, fmt.Errorf("Dockerfile:%d: %s is for a shell, which the image lacks: %s", i.line, i.name, i.rest)
	}
	return words, nil
}

// stage is what follows one FROM.
type stage struct {
	base, name string
	steps      []instruction
}

// last returns the last instruction of this name, the one that counts.
func (s stage) last(name string) (instruction, bool) {
	for _, i := range slices.Backward(s.steps) {
		if i.name == name {
			return i, true
		}
	}
	return instruction{}, false
}

func dockerfile(t testing.TB) []stage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	stages, err := parseDockerfile(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

func parseDockerfile(text string) ([]stage, error) {
	var stages []stage
	var joined string
	start := 0
	for number, line := range strings.Split(text, "\n") {
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue // also between continued lines
		}
		if joined == "" {
			start = number + 1
		}
		more := strings.HasSuffix(line, `\`)
		joined += " " + strings.TrimSpace(strings.TrimSuffix(line, `\`))
		if more {
			continue
		}
		i := parseInstruction(start, joined)
		joined = ""
		if i.name == "FROM" {
			base, name, _ := strings.Cut(i.rest, " AS ")
			stages = append(stages, stage{base: base, name: name})
			continue
		}
		if len(stages) == 0 {
			return nil, fmt.Errorf("Dockerfile:%d: %s before FROM", i.line, i.name)
		}
		at := &stages[len(stages)-1]
		at.steps = append(at.steps, i)
	}
	if joined != "" || len(stages) == 0 {
		return nil, fmt.Errorf("the Dockerfile ends too early")
	}
	return stages, nil
}

func parseInstruction(line int, text string) instruction {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	i := instruction{line: line, name: strings.ToUpper(name), flags: map[string]string{}, rest: strings.TrimSpace(rest)}
	for strings.HasPrefix(i.rest, "--") {
		flag, after, _ := strings.Cut(i.rest, " ")
		key, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		i.flags[key], i.rest = value, strings.TrimSpace(after)
	}
	return i
}

func TestDockerfileIsUnderstood(t *testing.T) {
	got, err := parseDockerfile("# why\nfrom golang:1.26 AS build\nRUN a \\\n  # between\n  && b\n\nFROM scratch\nCOPY --from=build --chown=1:2 /x /y\nHEALTHCHECK --retries=3 CMD [\"/x\", \"y\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].base != "golang:1.26" || got[0].name != "build" || got[1].base != "scratch" {
		t.Fatalf("got %+v", got)
	}
	if run := got[0].steps; len(run) != 1 || run[0].line != 3 || run[0].rest != "a && b" {
		t.Errorf("got %+v", run)
	}
	if cp, ok := got[1].last("COPY"); !ok || cp.rest != "/x /y" || cp.flags["from"] != "build" || cp.flags["chown"] != "1:2" {
		t.Errorf("got %+v", cp)
	}
	check, _ := got[1].last("HEALTHCHECK")
	if words, err := check.list(); err != nil || !slices.Equal(words, []string{"/x", "y"}) {
		t.Errorf("got %q, %v", words, err)
	}
	for _, bad := range []string{"RUN a\n", "FROM x\nRUN a \\\n", ""} {
		if got, err := parseDockerfile(bad); err == nil {
			t.Errorf("%q passes as %+v", bad, got)
		}
	}
}
