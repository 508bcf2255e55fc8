package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// verdict is what a result means for a store behind fencegate.
type verdict string

const (
	verdictOK     verdict = "ok"
	verdictNote   verdict = "note"   // to know; the promises hold
	verdictUnsafe verdict = "unsafe" // a promise of fencegate would not hold
)

// finding is one line of the table.
type finding struct {
	Check   string  `json:"check"`
	Result  string  `json:"result"`
	Verdict verdict `json:"verdict"`
	Means   string  `json:"means,omitempty"` // why it was looked at
	Do      string  `json:"do,omitempty"`    // what to do about it
}

// diagnosis is what an examination has found. add may be called by many at once.
type diagnosis struct {
	Upstream  string    `json:"upstream"`
	Safe      bool      `json:"safe"`
	Checks    []finding `json:"checks"`
	Settings  *advice   `json:"-"`
	YAML      string    `json:"settings"`
	Left      []string  `json:"left,omitempty"`       // what could not be removed
	MayAppear []string  `json:"may_appear,omitempty"` // what the store may still make

	mu      sync.Mutex
	secrets []string
}

func (r *diagnosis) add(check string, found []finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range found {
		f.Check = cmp.Or(f.Check, check)
		f.Result, f.Do = r.scrub(f.Result), r.scrub(f.Do)
		r.Checks = append(r.Checks, f)
	}
}

// advise changes what is recommended.
func (r *diagnosis) advise(change func(*advice)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r.Settings)
}

func (r *diagnosis) finish() {
	if len(r.Left)+len(r.MayAppear) > 0 {
		r.add("clear-up", []finding{{Result: r.left(), Verdict: verdictNote, Do: "remove it"}})
	}
	r.Safe = true
	for _, f := range r.Checks {
		r.Safe = r.Safe && f.Verdict != verdictUnsafe
	}
	r.YAML = r.Settings.yaml()
}

// left tells what is not cleared up.
func (r *diagnosis) left() string {
	var parts []string
	if len(r.Left) > 0 {
		parts = append(parts, "could not be removed: "+strings.Join(r.Left, " "))
	}
	if len(r.MayAppear) > 0 {
		parts = append(parts, "may still be made by the store: "+strings.Join(r.MayAppear, " "))
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing is left behind")
}

// secretsOf are the values of headers, and the parts of them that are secret by
// themselves, such as what follows Bearer.
func secretsOf(lines []string) (secrets []string) {
	for _, line := range lines {
		_, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); value != "" {
			secrets = append(secrets, value)
		}
		for _, part := range strings.Fields(value) {
			if len(part) >= 8 {
				secrets = append(secrets, part)
			}
		}
	}
	return secrets
}

// scrub takes secrets out of what a store has said.
func (r *diagnosis) scrub(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "[hidden]")
	}
	return s
}

func (r *diagnosis) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "CHECK\tVERDICT\tRESULT")
	for _, f := range r.Checks {
		fmt.Fprintf(columns, "%s\t%s\t%s\n", f.Check, f.Verdict, f.Result)
	}
	_ = columns.Flush() // to memory
	for _, part := range []struct {
		verdict verdict
		title   string
	}{{verdictUnsafe, "Unsafe:"}, {verdictNote, "To know:"}} {
		title := "\n" + part.title + "\n"
		for _, f := range r.Checks {
			if f.Verdict != part.verdict || f.Do == "" {
				continue
			}
			fmt.Fprintf(&b, "%s- %s: %s", title, f.Check, f.Do)
			if f.Means != "" && f.Verdict == verdictUnsafe {
				fmt.Fprintf(&b, " (%s)", f.Means)
			}
			b.WriteString("\n")
			title = ""
		}
	}
	fmt.Fprintf(&b, "\nSettings for fencegate serve --config:\n\n%s", r.YAML)
	if r.Safe {
		b.WriteString("\nNothing unsafe was found. What cannot be seen from here: that every write comes through fencegate, and that nothing behind the store repeats one.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// advice is what is recommended to serve.
type advice struct {
	Upstream, Protocol, CA string
	Settle, UpstreamIdle   time.Duration
	Body                   string
	MaxBody                int64 // 0: no limit was found
	FoldCase               bool
	Local                  bool // a directory
}

// yaml is a configuration that serve takes.
func (a *advice) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "upstream: %q\nprotocol: %s\n", a.Upstream, a.Protocol)
	if a.CA != "" {
		fmt.Fprintf(&b, "tls: {ca: %q}\n", a.CA)
	}
	fmt.Fprintf(&b, "settle: %v\n", a.Settle)
	if !a.Local {
		fmt.Fprintf(&b, "upstream_idle: %v\nbody: %s\n", a.UpstreamIdle, a.Body)
	}
	if a.MaxBody > 0 {
		fmt.Fprintf(&b, "max_body: %s\n", inMiB(a.MaxBody))
	}
	fmt.Fprintf(&b, "routes:\n  - {path: /, fold_case: %v}\n", a.FoldCase)
	return b.String()
}

func inMiB(n int64) string { return fmt.Sprintf("%dMiB", n>>20) }
