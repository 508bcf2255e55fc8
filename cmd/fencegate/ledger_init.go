package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
	"fencegate/store"
)

type ledgerInitCmd struct {
	ledgerState `embed:""`
	Upstream    string `placeholder:"URL" help:"The store that it will guard: refuses a directory that another ledger guards already."`
	Tokens      string `placeholder:"KIND" help:"What tokens are: any, or time, microseconds since 1970 as fencegate lock makes them (default any)."`
}

// Run makes a ledger as serve --init does, with the same refusals, and prints
// its id.
func (c *ledgerInitCmd) Run(std streams) error {
	config, err := c.config()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	config.checkSeparate(func(key, path string, fault error) {
		err = &exitError{exitConfig, fmt.Errorf("--%s %q: %w", key, path, fault)}
	})
	if err != nil {
		return err
	}
	if err := refuseGuarded(config); err != nil {
		return err
	}
	meta, err := store.Create(context.Background(), "bolt:"+config.ledgerDir(), store.Options{Kind: config.Tokens})
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

// config reads the flags as serve reads those with the same names.
func (c *ledgerInitCmd) config() (*serveConfig, error) {
	config := &serveConfig{State: c.State}
	var faults *multierror.Error
	for _, flag := range []struct {
		name, text string
		set        func(string) error
	}{
		{"--ledger", c.Ledger, func(s string) error { return setLedger(&config.Ledger, s) }},
		{"--upstream", c.Upstream, func(s string) error { return setUpstream(&config.Upstream, s) }},
		{"--tokens", c.Tokens, func(s string) error { return setTokens(&config.Tokens, s) }},
	} {
		if flag.text == "" {
			continue
		}
		if err := flag.set(flag.text); err != nil {
			faults = multierror.Append(faults, fmt.Errorf("%s: %w", flag.name, err)) // a URL may hold a password
		}
	}
	if faults != nil {
		faults.ErrorFormat = oneLine
	}
	return config, faults.ErrorOrNil()
}

// refuseGuarded refuses storage that remembers a ledger, unless there is one
// here: then that it exists already says more.
func refuseGuarded(c *serveConfig) error {
	if c.Upstream == "" {
		return nil
	}
	guard, err := guardOf(c)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(c.ledgerDir(), "ledger.db")); guard == "" || !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return wouldForget(c, guard)
}
