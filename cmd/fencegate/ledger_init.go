package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fencegate/fence"
	"fencegate/proxy/upstream/dir"
	"fencegate/store"
)

type ledgerInitCmd struct {
	ledgerState `embed:""`
	Upstream    string `placeholder:"dir:PATH" help:"The store that it will guard: refuses if another ledger does already."`
}

// Run makes a ledger as serve --init does, with the same refusals, and prints
// its id.
func (c *ledgerInitCmd) Run(std streams) error {
	if c.Upstream != "" {
		root, ok := strings.CutPrefix(c.Upstream, "dir:")
		if !ok || root == "" {
			return &exitError{exitUsage, fmt.Errorf("--upstream %q: expected dir:PATH, a local directory such as dir:./data", c.Upstream)}
		}
		if err := c.refuseGuarded(root); err != nil {
			return err
		}
	}
	meta, err := store.Create(context.Background(), "bolt:"+c.State, store.Options{})
	var open *fence.OpenError
	if errors.As(err, &open) && errors.Is(err, fence.ErrLedgerExists) {
		open.Remedy = "start fencegate serve without --init"
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, meta.ID)
	return err
}

// refuseGuarded refuses storage that remembers a ledger, unless there is one
// here: then that it exists already says more.
func (c *ledgerInitCmd) refuseGuarded(root string) error {
	guard, err := dir.LedgerID(root)
	if err != nil {
		return upstreamError(root, err)
	}
	if _, err := os.Lstat(filepath.Join(c.State, "ledger.db")); guard == "" || !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return wouldForget(&serveConfig{Upstream: c.Upstream, State: c.State}, guard)
}
