package harness

import (
	"fmt"
	"strings"
)

// AwaitLine returns the next line on standard output that contains part. It
// goes on behind the line that it returned before.
func (p *Process) AwaitLine(part string) string {
	p.t.Helper()
	text, err := p.out.await(stdout, &p.next, func(s string) bool { return strings.Contains(s, part) })
	if err != nil {
		p.t.Fatalf("%s printed no line with %q: %v", p.name, part, err)
	}
	return text
}

// Stdout and Stderr return the lines printed so far.
func (p *Process) Stdout() []string { return p.out.of(stdout) }
func (p *Process) Stderr() []string { return p.out.of(stderr) }

// Send writes one line to the standard input of a Worker.
func (p *Process) Send(text string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.stdin, text); err != nil {
		p.t.Fatalf("%s takes no %q: %v", p.name, text, err)
	}
}
