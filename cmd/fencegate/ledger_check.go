package main

import (
	"fmt"

	"fencegate/fence"
)

type ledgerCheckCmd struct {
	ledgerState `embed:""`
}

// Run verifies every page and every row, as each start of serve does.
func (c *ledgerCheckCmd) Run(std streams) error {
	rows := map[fence.Kind]int{}
	meta, err := c.inspect(func(r *fence.Row) error {
		rows[r.Kind]++
		return nil
	})
	if err != nil {
		return err
	}
	stopped := "stopped in order"
	if !meta.Clean {
		stopped = "not stopped in order, or never started: the next start waits for what may still land"
	}
	_, err = fmt.Fprintf(std.out, "sound: ledger %s, %d marks, %d floors, global floor %s, tokens %s, settle %s; %s\n",
		meta.ID, rows[fence.Mark], rows[fence.Floor], meta.Global, meta.Kind, meta.Settle, stopped)
	return err
}
