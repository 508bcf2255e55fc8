package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// A page holds what a run has found between two lines, and what somebody has
// written by hand around them, which stays.
const (
	pageBegins = "<!-- measured -->"
	pageEnds   = "<!-- end of what was measured -->"
)

// intoPage returns the text of a page with another report in it.
func intoPage(file, report string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	before, rest, begins := strings.Cut(string(text), pageBegins+"\n")
	_, after, ends := strings.Cut(rest, pageEnds+"\n")
	if !begins || !ends {
		return "", fmt.Errorf("%s has no place for a report: it needs the lines %s and %s", file, pageBegins, pageEnds)
	}
	return before + pageBegins + "\n" + report + pageEnds + "\n" + after, nil
}

func (r *report) writeMarkdown(file string) error {
	page, err := intoPage(file, r.markdown())
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

// markdown is the report for a page.
func (r *report) markdown() string {
	var b strings.Builder
	a := r.About
	b.WriteString("\n| | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"date", a.Date},
		{"fencegate", a.Commit + ", " + a.Go},
		{"machine", fmt.Sprintf("%s, %d cores, Linux %s; ledgers on %s", a.Processor, a.Cores, a.Kernel, a.FileSystem)},
		{"load before", a.LoadBefore},
		{"store", a.Store},
		{"peers", a.Nginx + "; " + a.Peers + "; " + a.Wrk},
		{"load", a.Load},
		{"made by", "`go run ./integration/bench " + a.Arguments + "`"},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	fmt.Fprintf(&b, "\n%s\n", r.quiet())
	b.WriteString("\n### What is wanted\n\n| what : compared with | wanted | median (lowest–highest round) | by CPU | |\n|---|---|---|---|---|\n")
	for _, c := range r.Cases {
		for _, n := range c.Ratios {
			if n.Target == "" {
				continue
			}
			cpu := ""
			if n.rates() {
				cpu = fmt.Sprintf("%.2f", n.ByCPU.Median)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", n.Says, n.Target, n.Ratio, cpu, n.verdict())
		}
	}
	for _, light := range r.Cases {
		for _, n := range light.Ratios {
			if light.Name == "fencegate-light" && n.Against == "nginx-light" {
				fmt.Fprintf(&b, "\nBefore the store that costs less, the ratio of `fencegate` to `nginx` is %s, by CPU %.2f.\n", n.Ratio, n.ByCPU.Median)
			}
		}
	}
	fmt.Fprintf(&b, "\n### All cases\n\n```text\n%s```\n\n", r.table())
	return b.String()
}

// missing names the rows that are wanted and were not measured: a page must not
// look complete without them.
func (r *report) missing() error {
	told := map[string]bool{}
	for _, c := range r.Cases {
		for _, n := range c.Ratios {
			told[n.Says] = true
		}
	}
	var errs []error
	for _, c := range scenes {
		for _, w := range c.wanted {
			if w.says != "" && !told[w.says] {
				errs = append(errs, fmt.Errorf("not measured, and so not in the page: %s", w.says))
			}
		}
	}
	return errors.Join(errs...)
}
