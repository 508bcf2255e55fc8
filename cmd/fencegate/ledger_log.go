package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fencegate/fence"
)

// fullAgain is how often a ledger that stays full is told.
const fullAgain = 30 * time.Second

// restore is what to do about a ledger that has failed.
const restore = "see to the disk, then run fencegate ledger repair"

// ledgerLog tells what the operator must do about the ledger. Commits are told
// to it one at a time.
type ledgerLog struct {
	log  *slog.Logger
	path string
	full time.Time // when it was last told to be full; zero when it is not
}

func (l *ledgerLog) committed(err error) {
	switch {
	case errors.Is(err, fence.ErrLedgerFull):
		if time.Since(l.full) >= fullAgain {
			l.full = time.Now()
			l.log.Error("the ledger's disk is full", "path", l.path, "error", err.Error(),
				"do", "free space there; what waits for it then goes on, and meanwhile no new token passes")
		}
	case err != nil: // once: the gate does not use it again
		l.log.Error("the ledger failed", "path", l.path, "error", err.Error(),
			"do", "stop fencegate, through which nothing protected passes any more; "+restore)
	case !l.full.IsZero():
		l.full = time.Time{}
		l.log.Info("the ledger has space again", "path", l.path)
	}
}

// ledgerFailure returns what serve ends with once the ledger has failed.
func ledgerFailure(s fence.State) error {
	if s.Failed == nil || errors.Is(s.Failed, fence.ErrLedgerFull) { // full at the end is just not clean
		return nil
	}
	return &exitError{exitData, fmt.Errorf("the ledger failed while serving: %w; %s", s.Failed, restore)}
}
