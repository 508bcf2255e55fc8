// Package storetest is the contract suite for ledgers: what fence.Ledger says,
// as tests that every implementation must pass.
package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"fencegate/fence"
)

// Place is where one ledger lives.
type Place struct {
	// Open opens it, the first time empty. It is called again only after
	// Close or Crash of what it returned before.
	Open func() (fence.Ledger, error)
	// Crash ends the use of an open ledger as kill −9 would.
	Crash func(fence.Ledger)
}

// Run tests the ledgers that live in the places fresh makes: each place new,
// with a new ledger of fence.AnyTokens.
func Run(t *testing.T, fresh func(t *testing.T) Place) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Place)
	}{
		{"Empty", testEmpty},
		{"Raise", testRaise},
		{"OnlyRise", testOnlyRise},
		{"OnlyRiseInBatch", testOnlyRiseInBatch},
		{"NoTokenIsNoRow", testNoToken},
		{"ManyKeys", testManyKeys},
		{"KindsApart", testKindsApart},
		{"LongAndOddPaths", testOddPaths},
		{"Audit", testAudit},
		{"BelowBoundaries", testBelowBoundaries},
		{"BelowMany", testBelowMany},
		{"BelowStops", testBelowStops},
		{"BelowUsesLedger", testBelowUsesLedger},
		{"Unstorable", testUnstorable},
		{"RowsLast", testRowsLast},
		{"CleanFlag", testCleanFlag},
		{"CleanNeedsStart", testCleanNeedsStart},
		{"Settle", testSettle},
		{"Commits", testCommits},
		{"Closed", testClosed},
		{"ReadersBesideCommit", testReadersBesideCommit},
		{"BatchIsAtomic", testBatchIsAtomic},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh(t)) })
	}
}

// at is a time with all the precision that ledgers keep.
var at = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func mark(path string, token fence.Token, owner fence.Owner) fence.Row {
	return row(fence.Mark, path, token, owner)
}

func floor(path string, token fence.Token, owner fence.Owner) fence.Row {
	return row(fence.Floor, path, token, owner)
}

func row(kind fence.Kind, path string, token fence.Token, owner fence.Owner) fence.Row {
	return fence.Row{Key: fence.Key{Kind: kind, Path: fence.ResourceOf(path)}, Token: token, Owner: owner, Client: "host/1", Since: at}
}

func mustOpen(t *testing.T, p Place) fence.Ledger {
	t.Helper()
	l, err := p.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(false); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

func mustStart(t *testing.T, p Place) fence.Ledger {
	t.Helper()
	l := mustOpen(t, p)
	if _, err := l.Start(t.Context(), time.Second); err != nil {
		t.Fatalf("Start: %v", err)
	}
	return l
}

func mustCommit(t *testing.T, l fence.Ledger, rows ...fence.Row) {
	t.Helper()
	if err := l.Commit(t.Context(), rows); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

func mustClose(t *testing.T, l fence.Ledger, clean bool) {
	t.Helper()
	if err := l.Close(clean); err != nil {
		t.Fatalf("Close(%t): %v", clean, err)
	}
}

func mustMeta(t *testing.T, l fence.Ledger) fence.Meta {
	t.Helper()
	m, err := l.Meta()
	if err != nil {
		t.Fatalf("Meta: %v", err)
	}
	return m
}

// wantRows fails unless the ledger has exactly these under their keys. A row
// without token means that there must be none.
func wantRows(t *testing.T, l fence.Ledger, want ...fence.Row) {
	t.Helper()
	keys := make([]fence.Key, len(want))
	for i := range want {
		keys[i] = want[i].Key
	}
	got := make([]fence.Row, len(want))
	for i := range got {
		got[i] = mark("/left/over", 99, "from before") // must be overwritten
	}
	if err := l.Read(keys, got); err != nil {
		t.Fatalf("Read: %v", err)
	}
	if diff := Diff(want, got); diff != "" {
		t.Fatalf("Read (-want +got):\n%s", diff)
	}
}

func none(kind fence.Kind, path string) fence.Row {
	return fence.Row{Key: fence.Key{Kind: kind, Path: fence.ResourceOf(path)}}
}

func below(t *testing.T, l fence.Ledger, path string) []fence.Row {
	t.Helper()
	rows, err := All(t, l, path)
	if err != nil {
		t.Fatalf("Below(%s): %v", path, err)
	}
	return rows
}

// All returns the rows below path, sorted by kind and path.
func All(t *testing.T, l fence.Ledger, path string) ([]fence.Row, error) {
	var rows []fence.Row
	err := l.Below(t.Context(), fence.ResourceOf(path), func(r fence.Row) bool {
		rows = append(rows, r)
		return true
	})
	slices.SortFunc(rows, func(a, b fence.Row) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path.Key(), b.Path.Key()))
	})
	return rows, err
}

func wantBelow(t *testing.T, l fence.Ledger, path string, want ...fence.Row) {
	t.Helper()
	if diff := Diff(want, below(t, l, path)); diff != "" {
		t.Fatalf("Below(%s) (-want +got):\n%s", path, diff)
	}
}

// Diff compares rows, owners and all, and returns "" if they are the same.
func Diff(want, got []fence.Row) string {
	if slices.Equal(want, got) {
		return ""
	}
	return gocmp.Diff(want, got, gocmp.Transformer("show", func(r fence.Row) string {
		return fmt.Sprintf("%s %s token=%d owner=%q client=%q since=%s", r.Kind, r.Path.Key(), r.Token,
			string(r.Owner), r.Client, r.Since.Format(time.RFC3339Nano))
	}))
}
