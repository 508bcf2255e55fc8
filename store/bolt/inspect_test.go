package bolt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/store/storetest"
)

// filled is a ledger with rows that was stopped in order.
func filled(t *testing.T) (dir string, rows []fence.Row) {
	t.Helper()
	l, dir := newLedger(t)
	var batch []fence.Row
	for i := range fence.Token(50) {
		batch = append(batch, numbered(i+1)...)
	}
	if err := l.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	rows, err := storetest.All(t, l, "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	return dir, rows
}

// listing is all files of a directory with their contents.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(content)
	}
	return found
}

// TestInspect: what it shows is what Open finds, and nothing changes, whether
// there is a lock file or not.
func TestInspect(t *testing.T) {
	dir, want := filled(t)
	for _, gone := range []string{"", lockName} {
		if gone != "" {
			if err := os.Remove(filepath.Join(dir, gone)); err != nil {
				t.Fatal(err)
			}
		}
		before := listing(t, dir)
		var got []fence.Row
		meta, err := Inspect(t.Context(), dir, soon, func(r *fence.Row) error {
			got = append(got, *r)
			return nil
		})
		if err != nil || !meta.Clean || meta.Settle != time.Second {
			t.Fatalf("meta %+v, error %v", meta, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if after := listing(t, dir); !reflect.DeepEqual(before, after) {
			t.Error("it has changed the directory")
		}
	}
}

func TestInspectStops(t *testing.T) {
	dir, _ := filled(t)
	enough, calls := errors.New("enough"), 0
	_, err := Inspect(t.Context(), dir, soon, func(*fence.Row) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

// TestInspectDamaged: no row of a damaged ledger is shown, not even a sound one
// before the damage.
func TestInspectDamaged(t *testing.T) {
	dir, rows := filled(t)
	path := filepath.Join(dir, ledgerName)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := []byte(rows[len(rows)-1].Path.Key())
	other := bytes.Clone(last)
	other[len(other)-1] ^= 1
	bad := bytes.ReplaceAll(sound, last, other)
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := 0
	_, err = Inspect(t.Context(), dir, soon, func(*fence.Row) error { shown++; return nil })
	wantOpenError(t, err, fence.ErrLedgerDamaged, path)
	if shown != 0 {
		t.Errorf("it shows %d rows", shown)
	}
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestInspectMissingSuspectForeignNetwork(t *testing.T) {
	meta, dir := newLedgerFile(t)
	_, err := Inspect(t.Context(), t.TempDir(), soon, nil)
	wantOpenError(t, err, fence.ErrLedgerMissing)
	_, err = Inspect(t.Context(), dir, Options{Wait: -1, ExpectID: "other"}, nil)
	wantOpenError(t, err, fence.ErrLedgerForeign, meta.ID, "other")
	nfs := func(string) (string, error) { return "NFS", nil }
	_, err = Inspect(t.Context(), dir, Options{Wait: -1, filesystem: nfs}, nil)
	wantOpenError(t, err, fence.ErrLedgerNetworkFS, "NFS")
	if err := os.WriteFile(filepath.Join(dir, suspectName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Inspect(t.Context(), dir, soon, nil)
	wantOpenError(t, err, fence.ErrLedgerSuspect)
}

// TestInspectHeld: an open ledger cannot be inspected, one that is inspected
// cannot be opened, but inspected by others.
func TestInspectHeld(t *testing.T) {
	l, dir := newLedger(t)
	_, err := Inspect(t.Context(), dir, soon, nil)
	wantOpenError(t, err, fence.ErrLedgerHeld, "process")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Inspect(ctx, dir, Options{Wait: time.Hour}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Inspect with an ended context: %v", err)
	}
	if err := l.Commit(t.Context(), []fence.Row{row("/a", 1, "")}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	_, err = Inspect(t.Context(), dir, soon, func(*fence.Row) error {
		wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerHeld)
		_, err := Inspect(t.Context(), dir, soon, nil)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	start(t, dir)
}
