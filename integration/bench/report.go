package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// report is what a run has found, as it is written to a file.
type report struct {
	About about       `json:"about"`
	Cases []caseNotes `json:"cases"`
}

type caseNotes struct {
	Name    string            `json:"name"`
	Rounds  map[int]*measured `json:"rounds,omitempty"`
	Rate    spread            `json:"requests_per_second"`
	P50     spread            `json:"p50_us"`
	P99     spread            `json:"p99_us"`
	CPU     spread            `json:"cpu_us_per_request"`
	AllCPU  spread            `json:"all_cpu_us_per_request"`
	Others  spread            `json:"others_percent"`
	Figure  spread            `json:"figure"`  // where there is no rate
	Repeats int               `json:"repeats"` // of runs in which others had too much
	Ratios  []ratioNotes      `json:"ratios,omitempty"`
	Invalid string            `json:"invalid,omitempty"`
}

// ratioNotes compare a case with another one, by round, or tell its figure.
type ratioNotes struct {
	Says    string `json:"says,omitempty"`
	Kind    kind   `json:"kind,omitempty"`
	Against string `json:"against,omitempty"`
	Over    string `json:"over,omitempty"`
	Ratio   spread `json:"ratio"`
	ByCPU   spread `json:"ratio_by_cpu"` // of the CPU time per request, inverted; for rates
	Target  string `json:"target,omitempty"`
	Met     bool   `json:"met"` // by the median
}

// rates tells whether it is rates that are compared.
func (n ratioNotes) rates() bool { return n.Kind == byRate || n.Kind == byTold }

// verdict is for a case with a target.
func (n ratioNotes) verdict() string {
	if n.Met {
		return "met"
	}
	return "missed"
}

func (n ratioNotes) String() string {
	text := n.Ratio.String()
	switch n.Kind {
	case additions:
		text += fmt.Sprintf(" of the p50 that %s adds to %s", n.Against, n.Over)
	case byTime:
		text += " of the p50 of " + n.Against
	case inMiB:
		text += " MiB of anonymous memory"
	case inAllocs:
		text += " allocations"
	default:
		text += fmt.Sprintf(", by CPU %.2f, of %s", n.ByCPU.Median, n.Against)
	}
	if n.Target == "" {
		return text
	}
	text += ", wanted " + n.Target
	if !n.Met {
		text += ": MISSED"
	}
	return text
}

func newReport(a about, results []*result) *report {
	byName := map[string]*result{}
	for _, r := range results {
		byName[r.scene.name] = r
	}
	out := &report{About: a}
	for _, r := range results {
		n := caseNotes{Name: r.scene.name, Rounds: r.rounds, Repeats: r.repeats}
		if r.invalid != nil {
			n.Invalid = r.invalid.Error()
		} else {
			n.summarise(r, byName)
		}
		out.Cases = append(out.Cases, n)
	}
	return out
}

// summarise tells of all rounds of r, and compares it with what was measured of
// the others.
func (n *caseNotes) summarise(r *result, others map[string]*result) {
	of := func(value func(*measured) float64) spread {
		var values []float64
		for _, m := range r.rounds {
			values = append(values, value(m))
		}
		return spreadOf(values)
	}
	n.Rate = of(func(m *measured) float64 { return m.Rate })
	n.P50 = of(func(m *measured) float64 { return m.P50 })
	n.P99 = of(func(m *measured) float64 { return m.P99 })
	n.CPU = of(func(m *measured) float64 { return m.CPU })
	n.AllCPU = of(func(m *measured) float64 { return m.AllCPU })
	n.Others = of(func(m *measured) float64 { return m.Others })
	n.Figure = of(func(m *measured) float64 { return m.Figure })
	for _, w := range r.scene.wanted {
		pairs, cpu := w.compare(r, others)
		if len(pairs) > 0 {
			s := spreadOf(pairs)
			n.Ratios = append(n.Ratios, ratioNotes{w.says, w.kind, w.against, w.over, s, spreadOf(cpu), w.String(), w.met(s.Median)})
		}
	}
}

// compare returns what is compared of each round; nothing if the other case was not
// measured.
func (w wanted) compare(r *result, others map[string]*result) (pairs, cpu []float64) {
	if w.kind.figure() {
		return figures(r.rounds), nil
	}
	to := others[w.against]
	if to == nil {
		return nil, nil
	}
	switch w.kind {
	case byTime:
		return slowdowns(r.rounds, to.rounds), nil
	case additions:
		if base := others[w.over]; base != nil {
			return additionsOf(r.rounds, to.rounds, base.rounds), nil
		}
		return nil, nil
	}
	return ratios(r.rounds, to.rounds), ratiosByCPU(r.rounds, to.rounds)
}

// width is that of all columns before the ratios.
const width = 20 + 1 + 8 + 1 + 15 + 5*9 + 8

// table is the report for a reader.
func (r *report) table() string {
	var b strings.Builder
	b.WriteString(r.About.text())
	fmt.Fprintf(&b, "\n%-20s %8s %15s %8s %8s %8s %8s %7s  %s\n", "case", "req/s", "min–max", "p50 µs", "p99 µs", "CPU µs", "all CPU", "others", "ratio (min–max) within the round")
	var notes []string
	for _, c := range r.Cases {
		if c.Invalid != "" {
			fmt.Fprintf(&b, "%-20s INVALID\n", c.Name)
			notes = append(notes, c.Name+" is invalid: "+c.Invalid)
			continue
		}
		if len(c.Ratios) > 0 && c.Ratios[0].Kind.figure() {
			fmt.Fprintf(&b, "%-*s  %s\n", width, c.Name, c.Ratios[0])
			continue
		}
		fmt.Fprintf(&b, "%-20s %8.0f %15s %8.0f %8.0f %8.1f %8.1f %6.0f%%", c.Name, c.Rate.Median,
			fmt.Sprintf("%.0f–%.0f", c.Rate.Min, c.Rate.Max), c.P50.Median, c.P99.Median, c.CPU.Median, c.AllCPU.Median, c.Others.Median)
		for i, ratio := range c.Ratios {
			if i > 0 {
				fmt.Fprintf(&b, "\n%*s", width, "")
			}
			b.WriteString("  " + ratio.String())
		}
		b.WriteString("\n")
	}
	b.WriteString("\n" + r.quiet() + "\n")
	if len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	return b.String()
}

// quiet says how busy the machine was with other things.
func (r *report) quiet() string {
	var medians []float64
	over, repeats := 0, 0
	for _, c := range r.Cases {
		if len(c.Ratios) > 0 && c.Ratios[0].Kind.figure() || c.Invalid != "" {
			continue
		}
		medians = append(medians, c.Others.Median)
		repeats += c.Repeats
		if c.Others.Median > busy {
			over++
		}
	}
	s := spreadOf(medians)
	text := fmt.Sprintf("Others had %.0f %% of the CPU (median over the cases; %.0f to %.0f %%); %d runs were repeated for it.", s.Median, s.Min, s.Max, repeats)
	if over > 0 {
		text = fmt.Sprintf("THE MACHINE WAS BUSY in %d of %d cases: rely on ratios and on CPU per request, if at all. ", over, len(medians)) + text
	}
	return text
}

func (r *report) writeJSON(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// invalid is an error if a case is.
func (r *report) invalid() error {
	var errs []error
	for _, c := range r.Cases {
		if c.Invalid != "" {
			errs = append(errs, fmt.Errorf("the case %s is invalid", c.Name))
		}
	}
	return errors.Join(errs...)
}
