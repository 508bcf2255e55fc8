package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fencegate/fence"
	"fencegate/proxy/upstream/dir"
	"fencegate/store"
)

// openLedger opens the ledger that guards the storage; with init it makes it,
// which it refuses for storage that another ledger has guarded.
func openLedger(ctx context.Context, c *serveConfig, init bool) (fence.Ledger, error) {
	guard, err := guardOf(c)
	if err != nil {
		return nil, err
	}
	url := "bolt:" + c.ledgerDir()
	opts := store.Options{Wait: c.Wait, ExpectID: guard, Kind: c.Tokens}
	if c.Wait == 0 {
		opts.Wait = -1 // not at all
	}
	if init {
		if _, err := os.Lstat(filepath.Join(c.ledgerDir(), "ledger.db")); errors.Is(err, os.ErrNotExist) {
			if guard != "" {
				return nil, wouldForget(c, guard)
			}
			if err := tryRest(c); err != nil {
				return nil, err
			}
		}
		if _, err := store.Create(ctx, url, opts); err != nil {
			return nil, err
		}
	}
	return store.Open(ctx, url, opts)
}

// guardOf returns the id of the one ledger that may guard the storage, "" if
// any may: as the configuration says, or as a directory remembers.
func guardOf(c *serveConfig) (string, error) {
	if c.scheme() != "dir" {
		return c.LedgerID, nil
	}
	guard, err := dir.LedgerID(c.root())
	switch {
	case err != nil:
		return "", upstreamError(c.root(), err)
	case guard != "" && c.LedgerID != "" && guard != c.LedgerID:
		return "", &fence.OpenError{
			Path: c.root(), Err: fence.ErrLedgerForeign,
			Detail: "it is guarded by ledger " + guard + ", but ledger_id is " + c.LedgerID,
			Remedy: "correct ledger_id, or use the storage that belongs to it",
		}
	case guard == "":
		return c.LedgerID, nil
	}
	return guard, nil
}

func wouldForget(c *serveConfig, guard string) error {
	if c.scheme() != "dir" || c.LedgerID != "" {
		return &fence.OpenError{
			Path: c.ledgerDir(), Err: fence.ErrLedgerForeign,
			Detail: "--init would make a new, empty ledger, but ledger_id is " + guard,
			Remedy: "restore that ledger, or take out ledger_id if its marks are to be forgotten, which lets old lock holders write again",
		}
	}
	return &fence.OpenError{
		Path: c.root(), Err: fence.ErrLedgerForeign,
		Detail: "it is guarded by ledger " + guard + ", and --init would make a new, empty one",
		Remedy: "restore that ledger to " + c.ledgerDir() + ", or remove " + filepath.Join(c.root(), ".fencegate", "ledger-id") +
			" if its marks are to be forgotten, which lets old lock holders write again",
	}
}

// checkKind compares what tokens are said to be with what the ledger was made
// for, and the highest token with that.
func checkKind(c *serveConfig, kind fence.TokenKind) error {
	f := faults{}
	if c.Tokens == "" || c.Tokens == kind {
		c.checkMaxToken(&f, kind)
		return f.err()
	}
	f.value(c.origins["tokens"].at, string(c.Tokens), fmt.Errorf(
		"the ledger in %s was made for tokens of the kind %s, which stays: expected %s, or leave it out", c.ledgerDir(), kind, kind))
	return f.err()
}

// tryRest finds out whether the rest of the start can succeed, before a ledger
// is made: one that a failed start leaves behind would have to be explained by
// "drop --init".
func tryRest(c *serveConfig) error {
	var s service
	if err := s.listen(c); err != nil {
		return err
	}
	s.dataL.Close()
	s.adminL.Close()
	u, err := openUpstream(c, networkSettle, "")
	if err != nil {
		return err
	}
	if err := u.Close(); err != nil {
		return upstreamError(c.root(), err)
	}
	return nil
}
