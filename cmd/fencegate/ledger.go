package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"fencegate/fence"
	"fencegate/store/bolt"
)

type ledgerCmd struct {
	Init   ledgerInitCmd   `cmd:"" help:"Make the ledger without serving."`
	Check  ledgerCheckCmd  `cmd:"" help:"Verify the whole ledger."`
	List   ledgerListCmd   `cmd:"" help:"Print the marks and floors."`
	Get    ledgerGetCmd    `cmd:"" help:"Print what holds for one path."`
	Repair ledgerRepairCmd `cmd:"" help:"Rewrite a ledger that is suspect or damaged."`
	Floor  ledgerFloorCmd  `cmd:"" help:"Make every token below a number stale everywhere, after a backup was restored."`
}

// Help is what fencegate ledger --help says before its commands.
func (ledgerCmd) Help() string {
	return `For the ledger of a fencegate that does not run. check, list and get change nothing. Exit codes are those of serve.`
}

// ledgerState is where the ledger lies.
type ledgerState struct {
	State  string `default:"./fencegate-state" placeholder:"PATH" help:"Directory of the ledger (default ${default})."`
	Ledger string `placeholder:"bolt:PATH" help:"Directory of the ledger, where it is not in the state directory."`
}

func (s *ledgerState) dir() (string, error) {
	config := serveConfig{State: s.State}
	if s.Ledger != "" {
		if err := setLedger(&config.Ledger, s.Ledger); err != nil {
			return "", &exitError{exitUsage, fmt.Errorf("--ledger: %w", err)}
		}
	}
	return config.ledgerDir(), nil
}

// inspect reads the ledger as a whole. visit, if not nil, sees the rows once
// all of it is known to be sound.
func (s *ledgerState) inspect(visit func(*fence.Row) error) (fence.Meta, error) {
	dir, err := s.dir()
	if err != nil {
		return fence.Meta{}, err
	}
	ctx, stop := interruptible()
	defer stop()
	meta, err := bolt.Inspect(ctx, dir, bolt.Options{Wait: -1}, visit)
	var open *fence.OpenError
	switch {
	case err == nil:
		return meta, nil
	case ctx.Err() != nil:
		return fence.Meta{}, &exitError{128 + int(syscall.SIGINT), errors.New("interrupted")}
	case errors.As(err, &open) && errors.Is(err, fence.ErrLedgerHeld):
		open.Remedy = "stop it first, or ask it: curl http://HOST:PORT/.well-known/fencegate/marks?resource=PATH"
	}
	return fence.Meta{}, err
}

// rowView is a row as it is shown, named as the marks endpoint names it. The
// owner is a secret: its digest is shown.
type rowView struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Token  string `json:"token"`
	Since  string `json:"since,omitempty"`
	Owner  string `json:"owner_sha256,omitempty"`
	Client string `json:"client,omitempty"`
}

func viewOf(r *fence.Row) rowView {
	v := rowView{Kind: r.Kind.String(), Path: r.Path.String(), Token: r.Token.String(), Owner: r.Owner.Digest(), Client: r.Client}
	if !r.Since.IsZero() {
		v.Since = r.Since.UTC().Format(time.RFC3339Nano)
	}
	return v
}
