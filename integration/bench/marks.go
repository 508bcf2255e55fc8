package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"fencegate/fence"
	"fencegate/store/bolt"
)

// What raises are measured on are ledgers with many marks. Each is made once, and
// every server that starts on one gets a copy.

// markOf names the i-th of a ledger's marks. Its first token is firstMark, and
// there is a valid one below.
func markOf(i int) fence.Resource {
	return fence.ResourceOf(fmt.Sprintf("/data/team-%03d/objects/%08d.bin", i%500, i))
}

const firstMark = 2

// rowOf is what a mark has in the ledger: a writer with names of the usual length.
func rowOf(i int, t fence.Token) fence.Row {
	return fence.Row{
		Key: fence.Key{Path: markOf(i)}, Token: t,
		Owner: "0123456789abcdef0123456789abcdef", Client: "host-17/4711/nightly", Since: time.UnixMicro(1.7e15),
	}
}

// ledgerFile is the file of a ledger in its directory.
const ledgerFile = "ledger.db"

// ledger is the directory in which a server has its ledger.
func (at place) ledger(name string) string { return filepath.Join(at.dir, name, "state") }

// copyLedger puts a ledger with so many marks where a server has it, and returns
// that directory.
func copyLedger(ctx context.Context, at place, name string, marks int) (string, error) {
	made := filepath.Join(at.dir, fmt.Sprintf("marks-%d", marks))
	if _, err := os.Stat(made); errors.Is(err, os.ErrNotExist) {
		if err := makeLedger(ctx, made, marks); err != nil {
			return "", fmt.Errorf("making a ledger with %d marks: %w", marks, err)
		}
	}
	dir := at.ledger(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	from, err := os.Open(filepath.Join(made, ledgerFile))
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, ledgerFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return dir, errors.Join(err, to.Sync(), to.Close())
}

func makeLedger(ctx context.Context, dir string, marks int) error {
	if _, err := bolt.Create(ctx, dir, bolt.Options{}); err != nil {
		return err
	}
	l, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		return err
	}
	_, err = l.Start(ctx, 0)
	const batch = 20_000
	for i := 0; i < marks && err == nil; i += batch {
		var rows []fence.Row
		for j := i; j < min(i+batch, marks); j++ {
			rows = append(rows, rowOf(j, firstMark))
		}
		err = l.Commit(ctx, rows)
	}
	return errors.Join(err, l.Close(err == nil))
}
