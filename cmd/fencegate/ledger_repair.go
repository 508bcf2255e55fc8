package main

import (
	"fmt"
	"io"

	"fencegate/store/bolt"
)

type ledgerRepairCmd struct {
	ledgerState `embed:""`
	LedgerID    string `placeholder:"ID" help:"The id that the ledger must have."`
	Floor       string `env:"-" placeholder:"N" help:"Save what can be read although marks are lost, and make every token below N stale everywhere: a number above every token ever given out; or now, where tokens are times."`
	DryRun      bool   `env:"-" help:"Only tell what would be done."`
}

// Help is what fencegate ledger repair --help says of it.
func (ledgerRepairCmd) Help() string {
	return `For a ledger that is suspect after a failed commit, or damaged: writes all that can be proved sound into a new file, which takes the place of the old one; that is kept beside it. Where marks may be lost it changes nothing, unless --floor says what makes up for them.`
}

// Run repairs the ledger and tells what became of it.
func (c *ledgerRepairCmd) Run(std streams) error {
	floor, err := parseFloor("--floor", c.Floor)
	if err != nil {
		return err
	}
	dir, err := c.dir()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	r, err := bolt.MakeSound(ctx, dir, bolt.Options{Wait: -1, ExpectID: c.LedgerID}, bolt.RepairOptions{Floor: floor, DryRun: c.DryRun})
	if r.Needed {
		if printErr := c.print(std.out, &r, err); err == nil {
			err = printErr
		}
	}
	switch {
	case err != nil:
		return offlineError(ctx, err)
	case r.Needed:
		return nil
	case floor != bolt.Floor{}:
		return &exitError{exitUsage, fmt.Errorf("%s is sound, there is nothing to repair: to raise its global floor, use fencegate ledger floor %s", r.Path, c.Floor)}
	}
	_, err = fmt.Fprintf(std.out, "%s is sound, there is nothing to repair: %d marks, %d floors, global floor %s\n", r.Path, r.Marks, r.Floors, r.OldFloor)
	return err
}

// print tells what was found, and after a repair what was done and what comes
// next.
func (c *ledgerRepairCmd) print(w io.Writer, r *bolt.Repair, failed error) error {
	p := &report{w: w}
	switch {
	case r.IsSuspect && r.Suspect != "":
		p.line("suspect", "%s", r.Suspect)
	case r.IsSuspect:
		p.line("suspect", "a commit failed, nothing is known of it")
	}
	if r.Damage != "" {
		p.line("damage", "%s", r.Damage)
	}
	p.line("rows", "%d marks, %d floors; the highest token is %s", r.Marks, r.Floors, r.Highest)
	for _, text := range r.Lost {
		p.line("lost", "%s", text)
	}
	if r.LostMore > 0 {
		p.line("lost", "%d more", r.LostMore)
	}
	if len(r.Lost) == 0 {
		p.line("lost", "nothing")
	}
	switch {
	case failed != nil && r.Old != "":
		p.line("old file", "%s", r.Old)
		p.line("next", "the new file is in its place, but that is not certain to last: repair it again")
		return p.err
	case failed != nil:
		p.line("changed", "nothing")
		return p.err
	}
	if r.Meta.Global == r.OldFloor {
		p.line("floor", "%s, as before", r.OldFloor)
	} else {
		p.line("floor", "%s, was %s: every token below it is stale everywhere", r.Meta.Global, r.OldFloor)
	}
	if c.DryRun {
		p.line("changed", "nothing: --dry-run; without it, what the rest of the file has above these rows is taken too")
		return p.err
	}
	p.line("recovered", "%d rows raised or added by what the rest of the file has", r.Recovered)
	p.line("old file", "%s", r.Old)
	p.line("next", "start fencegate serve: it waits for what may still land (%s, or its settle time if longer), then serves", r.Meta.Settle)
	return p.err
}

// report prints lines of a name and a text.
type report struct {
	w   io.Writer
	err error
}

func (p *report) line(name, format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, "%-10s %s\n", name+":", fmt.Sprintf(format, args...))
	}
}
