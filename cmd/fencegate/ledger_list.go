package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"fencegate/fence"
)

type ledgerListCmd struct {
	ledgerState `embed:""`
	Below       string `default:"/" env:"-" placeholder:"PATH" help:"Only rows at this path and below it (default ${default}, all)."`
	JSON        bool   `env:"-" help:"One JSON object a line."`
}

// Run prints the rows, marks first, each kind in the order of its paths.
func (c *ledgerListCmd) Run(std streams) error {
	below, err := fence.Canonical(c.Below, fence.NameOptions{})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--below %q: expected a path such as /reports: %w", c.Below, err)}
	}
	p := newRowPrinter(std.out, c.JSON)
	_, err = c.inspect(func(r *fence.Row) error {
		if !below.Covers(r.Path) {
			return nil
		}
		return p.print(viewOf(r))
	})
	if err != nil {
		return err
	}
	return p.flush()
}

// rowPrinter prints rows as JSON lines or in columns.
type rowPrinter struct {
	json    *json.Encoder
	columns *tabwriter.Writer
	rows    int
}

// columnsOver is over how many rows columns are aligned: a ledger can have more
// than fits into memory.
const columnsOver = 1000

func newRowPrinter(w io.Writer, asJSON bool) *rowPrinter {
	if asJSON {
		return &rowPrinter{json: json.NewEncoder(w)}
	}
	p := &rowPrinter{columns: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(p.columns, "KIND\tPATH\tTOKEN\tSINCE\tOWNER_SHA256\tCLIENT") // an error shows at flush
	return p
}

// print writes one row. The client comes last, for it can hold blanks.
func (p *rowPrinter) print(v rowView) error {
	if p.json != nil {
		return p.json.Encode(v)
	}
	fmt.Fprintf(p.columns, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Kind, v.Path, v.Token,
		cmp.Or(v.Since, "-"), cmp.Or(v.Owner, "-"), cmp.Or(v.Client, "-"))
	if p.rows++; p.rows%columnsOver == 0 {
		return p.columns.Flush()
	}
	return nil
}

func (p *rowPrinter) flush() error {
	if p.json != nil {
		return nil
	}
	return p.columns.Flush()
}
