package main

import (
	"fmt"

	"fencegate/fence"
)

type ledgerGetCmd struct {
	ledgerState `embed:""`
	Path        string `arg:"" help:"The path, as it stands in a URL."`
	JSON        bool   `env:"-" help:"A JSON object."`
}

// Run prints the row that decides about a path: the highest of its mark, the
// floors at and above it, and the global floor.
func (c *ledgerGetCmd) Run(std streams) error {
	path, err := fence.Canonical(c.Path, fence.NameOptions{})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("%q: expected a path such as /reports/q3.csv: %w", c.Path, err)}
	}
	var highest fence.Row
	meta, err := c.inspect(func(r *fence.Row) error {
		applies := r.Path == path || r.Kind == fence.Floor && r.Path.Covers(path)
		if applies && r.Token > highest.Token {
			highest = *r
		}
		return nil
	})
	if err != nil {
		return err
	}
	view := rowView{Kind: "none", Path: path.String(), Token: "0"}
	switch {
	case meta.Global > highest.Token:
		view = rowView{Kind: "global", Path: "/", Token: meta.Global.String()}
	case highest.Token != fence.NoToken:
		view = viewOf(&highest)
	}
	p := newRowPrinter(std.out, c.JSON)
	if err := p.print(view); err != nil {
		return err
	}
	return p.flush()
}
