package integration

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is one fenced code block of a Markdown text.
type block struct {
	line int // of its first content line
	lang string
	text string
}

var fenceLine = regexp.MustCompile("^( *)(`{3,}|~{3,})([^`]*)$")

// codeBlocks returns the fenced code blocks in order.
func codeBlocks(markdown string) []block {
	var blocks []block
	var open *block
	var indent, closing string
	for i, line := range strings.Split(markdown, "\n") {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case open == nil && m != nil:
			indent, closing = m[1], m[2]
			lang, _, _ := strings.Cut(strings.TrimSpace(m[3]), " ")
			open = &block{line: i + 2, lang: lang}
		case open != nil && m != nil && strings.TrimSpace(m[3]) == "" && strings.HasPrefix(m[2], closing):
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	return blocks
}

// step is what a reader types, and what the README says will be printed.
type step struct {
	line     int
	commands string
	prints   []string
}

// otherwise are commands that are not for the session that a reader has open:
// they take too long, or need what a test machine lacks.
var otherwise = []string{"make test", "make soak", "docker"}

// steps turns sh, bash and console blocks into what to type. A text block that
// follows one is its output; in a console block the lines without "$ " are.
func steps(blocks []block) []step {
	var all []step
	for i, b := range blocks {
		s := step{line: b.line, commands: b.text}
		switch b.lang {
		case "sh", "bash":
			if i+1 < len(blocks) && blocks[i+1].lang == "text" {
				s.prints = nonEmpty(blocks[i+1].text)
			}
		case "console":
			s.commands = ""
			for _, line := range nonEmpty(b.text) {
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					s.commands += command + "\n"
				} else {
					s.prints = append(s.prints, line)
				}
			}
		default:
			continue
		}
		if !slices.ContainsFunc(otherwise, func(word string) bool { return strings.Contains(b.text, word) }) {
			all = append(all, s)
		}
	}
	return all
}

func nonEmpty(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// notPrinted returns the wanted lines that output lacks or has in another
// order. "…" in a line stands for anything.
func notPrinted(want, output []string) []string {
	var missing []string
	at := 0
	for _, line := range want {
		parts := strings.Split(strings.TrimSpace(line), "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		found := slices.IndexFunc(output[at:], func(line string) bool { return pattern.MatchString(strings.TrimSpace(line)) })
		if found < 0 {
			missing = append(missing, line)
			continue
		}
		at += found + 1
	}
	return missing
}

func TestReadmeIsUnderstood(t *testing.T) {
	const markdown = "# Title\n\n```sh\nmake build\nbin/x &\n```\nprints\n\n```text\ntoken …, ok\ndone\n```\n" +
		"```go\nfunc main() {}\n```\n1. item\n   ```console\n   $ echo a\n   a\n   $ echo b\n   ```\n" +
		"````markdown\n```sh\nno command\n```\n````\n```sh\nmake test\n```\n~~~bash title=x\ntrue\n~~~\n```text\nnot of an sh block\n```\n"
	got := steps(codeBlocks(markdown))
	want := []step{
		{4, "make build\nbin/x &\n", []string{"token …, ok", "done"}},
		{18, "echo a\necho b\n", []string{"a"}},
		{31, "true\n", []string{"not of an sh block"}},
	}
	if !slices.EqualFunc(got, want, func(a, b step) bool {
		return a.line == b.line && a.commands == b.commands && slices.Equal(a.prints, b.prints)
	}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	output := []string{"log", " token 34, ok\r", "log", "done"}
	for _, c := range []struct{ want, missing []string }{
		{[]string{"token …, ok", "done"}, nil},
		{[]string{"token …, ok", "don"}, []string{"don"}},
		{[]string{"done", "token …, ok"}, []string{"token …, ok"}},
		{[]string{"token (.*), ok"}, []string{"token (.*), ok"}},
	} {
		if got := notPrinted(c.want, output); !slices.Equal(got, c.missing) {
			t.Errorf("of %q it misses %q, want %q", c.want, got, c.missing)
		}
	}
}
