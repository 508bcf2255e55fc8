package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"fencegate/fence"
	"fencegate/proxy/upstream/dir"
)

// checkAdoption refuses a directory that remembers no ledger once the ledger
// has rows: more likely than new storage is that what should be mounted there
// is not, and then all objects would seem to be gone.
func checkAdoption(ctx context.Context, c *serveConfig, ledger fence.Ledger, id string) error {
	if c.scheme() != "dir" {
		return nil // remembers no ledger
	}
	guard, err := dir.LedgerID(c.root())
	if err != nil {
		return upstreamError(c.root(), err)
	}
	if guard != "" {
		return nil // opening it compares
	}
	used, err := hasRows(ctx, ledger)
	if err != nil || !used {
		return err
	}
	area := filepath.Join(c.root(), ".fencegate")
	return &exitError{exitData, fmt.Errorf("--upstream dir:%s: the ledger in %s has marks already, but this directory does not remember it: "+
		"is what should be mounted there missing? If this is to be its storage from now on: mkdir -p -m 700 %s && echo %s >%s",
		c.root(), c.ledgerDir(), shellWord(area), id, shellWord(filepath.Join(area, "ledger-id")))}
}

// hasRows reports whether the ledger has any row, of which Below does not see
// the root's.
func hasRows(ctx context.Context, ledger fence.Ledger) (bool, error) {
	keys := []fence.Key{{Kind: fence.Mark, Path: fence.Root}, {Kind: fence.Floor, Path: fence.Root}}
	rows := make([]fence.Row, len(keys))
	if err := ledger.Read(keys, rows); err != nil {
		return false, err
	}
	found := rows[0].Token != fence.NoToken || rows[1].Token != fence.NoToken
	err := ledger.Below(ctx, fence.Root, func(fence.Row) bool {
		found = true
		return false
	})
	return found, err
}

// shellWord quotes a path for a shell.
func shellWord(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
