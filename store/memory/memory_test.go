package memory_test

import (
	"errors"
	"testing"

	"fencegate/fence"
	"fencegate/store/memory"
	"fencegate/store/storetest"
)

func place() storetest.Place {
	last := memory.New(fence.Meta{})
	return storetest.Place{
		Open: func() (fence.Ledger, error) {
			last = last.Reopen()
			return last, nil
		},
		Crash: func(l fence.Ledger) { l.(*memory.Ledger).Reopen() },
	}
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Place { return place() })
}

func TestHooks(t *testing.T) {
	row := fence.Row{Key: fence.Key{Path: fence.ResourceOf("/a")}, Token: 1}
	l := memory.New(fence.Meta{Clean: true})
	failure := errors.New("the disk is gone")
	next := fence.ErrLedgerFull
	l.OnCommit = func([]fence.Row) error { return next }
	if _, err := l.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), []fence.Row{row}); !errors.Is(err, fence.ErrLedgerFull) {
		t.Fatalf("Commit on a full disk: %v", err)
	}
	next = nil
	if err := l.Commit(t.Context(), []fence.Row{row}); err != nil {
		t.Fatalf("Commit after a full disk: %v", err)
	}
	next = failure
	for range 2 {
		if err := l.Commit(t.Context(), []fence.Row{row}); !errors.Is(err, failure) || !errors.Is(err, fence.ErrLedgerSuspect) {
			t.Fatalf("Commit on a failed disk: %v", err)
		}
		next = nil // it stays failed all the same
	}
	if err := l.Read([]fence.Key{row.Key}, make([]fence.Row, 1)); !errors.Is(err, failure) {
		t.Errorf("Read after a failure: %v", err)
	}
	if err := l.Close(true); !errors.Is(err, failure) {
		t.Errorf("Close(true) after a failure: %v", err)
	}
	if m, err := l.Reopen().Meta(); err != nil || m.Clean {
		t.Errorf("after a failure: clean %t, error %v", m.Clean, err)
	}
}
