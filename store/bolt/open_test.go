package bolt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
)

// wantOpenError fails unless err is one clear line that wraps want and names
// all of texts.
func wantOpenError(t *testing.T, err, want error, texts ...string) {
	t.Helper()
	open, ok := err.(*fence.OpenError)
	if !ok || !errors.Is(err, want) {
		t.Fatalf("got %T %v, want an OpenError that is %v", err, err, want)
	}
	if open.Remedy == "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("no remedy, or more than a line: %q", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

func openError(t *testing.T, dir string, opts Options) error {
	t.Helper()
	opts.Wait = soon.Wait
	l, err := Open(t.Context(), dir, opts)
	if err == nil {
		_ = l.Close(false)
		t.Fatal("it opened")
	}
	return err
}

func TestOpenMissing(t *testing.T) {
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(empty, "no", "where"), empty, file} {
		wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerMissing, dir, "--init", "backup")
	}
	if left, _ := os.ReadDir(empty); len(left) != 0 {
		t.Errorf("Open left %v", left)
	}
	// Where there was a ledger once it is the same.
	_, dir := newLedgerFile(t)
	if err := os.Remove(filepath.Join(dir, ledgerName)); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerMissing)
}

// newLedgerFile makes a ledger that is not checked at the end of the test.
func newLedgerFile(t *testing.T) (fence.Meta, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	meta, err := Create(t.Context(), dir, soon)
	if err != nil {
		t.Fatal(err)
	}
	return meta, dir
}

// A pipe in the place of a file has nothing to say, and is not waited for.
func TestPipesAreNotWaitedFor(t *testing.T) {
	for _, name := range []string{ledgerName, suspectName} {
		_, dir := newLedgerFile(t)
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		for what, open := range map[string]func() error{
			"open":    func() error { return openError(t, dir, Options{}) },
			"inspect": func() error { _, err := Inspect(t.Context(), dir, soon, nil); return err },
			"floor":   func() error { _, _, err := RaiseFloor(t.Context(), dir, soon, Floor{Token: 5}); return err },
			"repair":  func() error { _, err := MakeSound(t.Context(), dir, soon, RepairOptions{DryRun: true}); return err },
		} {
			ended := make(chan error, 1)
			go func() { ended <- open() }()
			select {
			case err := <-ended:
				if want := (&fence.OpenError{}); !errors.As(err, &want) {
					t.Errorf("%s with a pipe as %s: %v", what, name, err)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s waits for what a pipe as %s may say", what, name)
			}
		}
	}
}

func TestOpenForeign(t *testing.T) {
	meta, dir := newLedgerFile(t)
	other := strings.Repeat("0", 32)
	wantOpenError(t, openError(t, dir, Options{ExpectID: other}), fence.ErrLedgerForeign, meta.ID, other)
	l, err := Open(t.Context(), dir, Options{ExpectID: meta.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(false); err != nil {
		t.Error(err)
	}
}

func TestOpenNewer(t *testing.T) {
	_, dir := newLedgerFile(t)
	edit(t, dir, func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("what comes next"))
		return errors.Join(err, tx.Bucket(metaBucket).Put(formatKey, encodeFormat(2)))
	})
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerNewer, "format 2")
}

// edit changes a ledger file behind our back.
func edit(t *testing.T, dir string, f func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, ledgerName), 0, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(f), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenEdited(t *testing.T) {
	for name, f := range map[string]func(*bbolt.Tx) error{
		"bucket added":   func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("other")); return err },
		"bucket gone":    func(tx *bbolt.Tx) error { return tx.DeleteBucket(floorsBucket) },
		"bucket emptied": func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(recordKey) },
		"no format":      func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(formatKey) },
		"value in root":  func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put([]byte("x"), nil) },
		"bucket in rows": func(tx *bbolt.Tx) error { _, err := tx.Bucket(marksBucket).CreateBucket([]byte("/x")); return err },
		"bad row":        func(tx *bbolt.Tx) error { return tx.Bucket(marksBucket).Put([]byte("/x"), []byte("y")) },
		"row of another": func(tx *bbolt.Tx) error {
			r := row("/x", 5, "")
			return tx.Bucket(marksBucket).Put([]byte("/y"), encodeRow(&r, []byte("/x")))
		},
		"mark as floor": func(tx *bbolt.Tx) error {
			r := row("/x", 5, "")
			return tx.Bucket(floorsBucket).Put([]byte("/x"), encodeRow(&r, []byte("/x")))
		},
	} {
		_, dir := newLedgerFile(t)
		edit(t, dir, f)
		err := openError(t, dir, Options{})
		if !errors.Is(err, fence.ErrLedgerDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenSuspect(t *testing.T) {
	_, dir := newLedgerFile(t)
	marker := filepath.Join(dir, suspectName)
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerSuspect, marker, "run fencegate ledger repair --state "+dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := markSuspect(dir, now, strings.Repeat("0a", 16), 17, errors.New("input/output\nerror")); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerSuspect, "2026-01-02T03:04:05Z ledger 0a0a", "after transaction 17: input/output error")
}

func TestOpenNotAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ledgerName), 0o700); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerDamaged, "directory")
	_, err := Create(t.Context(), dir, soon)
	wantOpenError(t, err, fence.ErrLedgerExists)
}

func TestNetworkFilesystem(t *testing.T) {
	_, dir := newLedgerFile(t)
	for _, remote := range []string{dir, filepath.Join(dir, ledgerName)} {
		opts := Options{filesystem: func(path string) (string, error) {
			if path == remote {
				return "NFS", nil
			}
			return "", nil
		}}
		wantOpenError(t, openError(t, dir, opts), fence.ErrLedgerNetworkFS, "NFS", "local disk")
	}
	opts := Options{filesystem: func(string) (string, error) { return "FUSE", nil }}
	fresh := filepath.Join(t.TempDir(), "fresh")
	_, err := Create(t.Context(), fresh, opts)
	wantOpenError(t, err, fence.ErrLedgerNetworkFS, "FUSE")
	wantOpenError(t, openError(t, fresh, Options{}), fence.ErrLedgerMissing)
	if name, err := networkFilesystem("/proc"); name != "" || err != nil {
		t.Errorf("/proc is %q, error %v", name, err)
	}
}

func TestOpenHeldInProcess(t *testing.T) {
	l, dir := newLedger(t)
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerHeld)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, dir, Options{Wait: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with an ended context: %v", err)
	}
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
	// A program that knows bbolt's lock but not ours.
	path := filepath.Join(dir, ledgerName)
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerHeld, path)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
}

// TestCloseUnlocks: even while a process that is just being started shares the
// open files.
func TestCloseUnlocks(t *testing.T) {
	l, dir := newLedger(t)
	for _, f := range []*os.File{l.lock, l.file} {
		shared, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(shared)
	}
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
}
