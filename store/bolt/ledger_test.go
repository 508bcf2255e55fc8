package bolt

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
	"fencegate/store/memory"
	"fencegate/store/storetest"
)

// soon makes a test that finds a ledger held fail soon. Not at once: a process
// that another test starts holds all locks of this one until it executes.
var soon = Options{Wait: time.Second}

// newPlace makes a ledger whose file is verified after the test, once by our
// own check and once by bbolt's.
func newPlace(t *testing.T) (storetest.Place, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := Create(t.Context(), dir, soon); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checkFile(t, filepath.Join(dir, ledgerName)) })
	return storetest.Place{
		Open:  func() (fence.Ledger, error) { return Open(t.Context(), dir, soon) },
		Crash: func(l fence.Ledger) { l.(*Ledger).crash() },
	}, dir
}

// crash ends the use of l without writing, as kill −9 does.
func (l *Ledger) crash() {
	l.open.Lock()
	defer l.open.Unlock()
	if !l.closed {
		l.closed = true
		_ = l.release()
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := verify(context.Background(), file, info.Size(), nil); err != nil { // t.Context has ended when a test cleans up
		t.Errorf("verify: %v", err)
		return
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Errorf("bbolt: %v", err)
		return
	}
	defer db.Close()
	_ = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("bbolt's check: %v", err)
		}
		return nil
	})
}

// newLedger returns a started ledger in a new place.
func newLedger(t *testing.T) (*Ledger, string) {
	t.Helper()
	_, dir := newPlace(t)
	return start(t, dir), dir
}

func start(t *testing.T, dir string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), dir, soon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(false) })
	if _, err := l.Start(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	return l
}

func row(path string, token fence.Token, owner fence.Owner) fence.Row {
	return fence.Row{Key: fence.Key{Path: fence.ResourceOf(path)}, Token: token, Owner: owner}
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Place {
		p, _ := newPlace(t)
		return p
	})
}

func TestBesideMemory(t *testing.T) {
	rounds := 1500
	if testing.Short() {
		rounds = 200
	}
	p, _ := newPlace(t)
	last := memory.New(fence.Meta{})
	twin := storetest.Place{
		Open: func() (fence.Ledger, error) {
			last = last.Reopen()
			return last, nil
		},
		Crash: func(l fence.Ledger) { l.(*memory.Ledger).Reopen() },
	}
	storetest.Twins(t, p, twin, uint64(time.Now().UnixNano()), rounds)
}

// TestCoveredBatchWritesNothing: not even a transaction that changes no row.
func TestCoveredBatchWritesNothing(t *testing.T) {
	l, _ := newLedger(t)
	rows := numbered(5)
	if err := l.Commit(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	before, err := l.metaPages()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if !l.metaUnchanged(before) {
		t.Error("a covered batch was written")
	}
	if err := l.Commit(t.Context(), numbered(6)); err != nil || l.metaUnchanged(before) {
		t.Errorf("a batch that rises was not written, error %v", err)
	}
}
