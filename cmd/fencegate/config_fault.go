package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// source is what a value came from. Later ones take precedence.
type source uint8

const (
	fromFile source = iota
	fromEnv
	fromFlag
)

// place is where something was written down.
type place struct {
	from      source
	file      string // with fromFile, as line and column
	line, col int
	name      string // of the key, the variable or the flag; "" for a file as a whole
}

func (p place) String() string {
	if p.from != fromFile {
		return p.name
	}
	parts := []string{p.file}
	if p.line > 0 {
		parts = []string{fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col)}
	}
	if p.name != "" {
		parts = append(parts, p.name)
	}
	return strings.Join(parts, ": ")
}

// fault is one thing that is wrong with a configuration.
type fault struct {
	at   place
	text string
}

func (f *fault) Error() string { return f.at.String() + f.text }

// faults collects everything that is wrong.
type faults struct{ found []*fault }

// add notes what is wrong at a place.
func (f *faults) add(at place, format string, args ...any) {
	f.found = append(f.found, &fault{at, ": " + fmt.Sprintf(format, args...)})
}

// value notes what is wrong with a value.
func (f *faults) value(at place, text string, err error) {
	f.found = append(f.found, &fault{at, " " + quoted(text) + ": " + err.Error()})
}

// err returns all faults as one error, in the order in which they stand.
func (f *faults) err() error {
	slices.SortStableFunc(f.found, func(a, b *fault) int {
		return cmp.Or(cmp.Compare(a.at.from, b.at.from), cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.col, b.at.col))
	})
	var all *multierror.Error
	for _, one := range f.found {
		all = multierror.Append(all, one)
	}
	if all == nil {
		return nil
	}
	all.ErrorFormat = listFaults
	return &exitError{exitConfig, all}
}

// listFaults puts each fault on a line of its own.
func listFaults(errs []error) string {
	if len(errs) == 1 {
		return errs[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults in the configuration:", len(errs))
	for _, err := range errs {
		b.WriteString("\n  " + err.Error())
	}
	return b.String()
}

var password = regexp.MustCompile(`//[^/]*@`)

// quoted shows a text that was given, but no password in it, and not all of a
// very long one.
func quoted(text string) string {
	text = password.ReplaceAllString(text, "//…@")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
