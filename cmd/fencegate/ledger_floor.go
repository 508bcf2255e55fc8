package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"fencegate/fence"
	"fencegate/store/bolt"
)

type ledgerFloorCmd struct {
	ledgerState `embed:""`
	LedgerID    string `placeholder:"ID" help:"The id that the ledger must have."`
	Floor       string `arg:"" help:"A number above every token ever given out; or now, where tokens are times."`
}

// Help is what fencegate ledger floor --help says of it.
func (ledgerFloorCmd) Help() string {
	return `For a ledger that was restored from a backup, which knows the tokens of its time only: every token below the floor is stale from then on, everywhere. A floor never falls. The next start waits for what may still land.`
}

// Run raises the global floor.
func (c *ledgerFloorCmd) Run(std streams) error {
	floor, err := parseFloor("FLOOR", c.Floor)
	if err != nil {
		return err
	}
	dir, err := c.dir()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	before, after, err := bolt.RaiseFloor(ctx, dir, bolt.Options{Wait: -1, ExpectID: c.LedgerID}, floor)
	if err != nil {
		return offlineError(ctx, err)
	}
	if after.Global == before.Global {
		_, err = fmt.Fprintf(std.out, "the global floor stays %s: a floor never falls\n", after.Global)
	} else {
		_, err = fmt.Fprintf(std.out, "the global floor is %s, was %s: every token below it is stale everywhere\n", after.Global, before.Global)
	}
	return err
}

// parseFloor reads a floor as it is given on the command line; "" is none.
func parseFloor(name, text string) (bolt.Floor, error) {
	switch text {
	case "":
		return bolt.Floor{}, nil
	case "now":
		return bolt.Floor{Now: true}, nil
	}
	token, err := fence.ParseToken(text, fence.MaxToken)
	if err != nil {
		return bolt.Floor{}, &exitError{exitUsage, fmt.Errorf("%s %q: expected a number above every token ever given out, or now", name, text)}
	}
	return bolt.Floor{Token: token}, nil
}

// interruptible returns a context that ends with the first signal to end.
func interruptible() (context.Context, func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// offlineError is what a command ends with that needs the ledger for itself.
func offlineError(ctx context.Context, err error) error {
	var open *fence.OpenError
	var floor *bolt.FloorError
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &exitError{128 + int(syscall.SIGINT), errors.New("interrupted; nothing was changed")}
	case errors.As(err, &floor):
		return &exitError{exitUsage, err}
	case errors.As(err, &open) && errors.Is(err, fence.ErrLedgerHeld):
		open.Remedy = "stop it first"
	}
	return err
}
