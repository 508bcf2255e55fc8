package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
	"fencegate/store/storetest"
)

// suspected is a ledger that failed after its last acknowledged commit, which
// left no more than the marker.
func suspected(t *testing.T) (dir string, rows []fence.Row) {
	t.Helper()
	l, dir := newLedger(t)
	for i := range fence.Token(50) {
		if err := l.Commit(t.Context(), numbered(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := storetest.All(t, l, "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.fail(errors.New("input/output error"))
	l.crash()
	return dir, rows
}

func repaired(t *testing.T, dir string, how RepairOptions) Repair {
	t.Helper()
	r, err := MakeSound(t.Context(), dir, soon, how)
	if err != nil {
		t.Fatalf("%v\n%+v", err, r)
	}
	return r
}

// refused fails unless nothing is repaired, and nothing but a lock file changed.
func refused(t *testing.T, dir string, opts Options, how RepairOptions) error {
	t.Helper()
	opts.Wait = soon.Wait
	before := listing(t, dir)
	r, err := MakeSound(t.Context(), dir, opts, how)
	if err == nil {
		t.Fatalf("it was repaired: %+v", r)
	}
	after := listing(t, dir)
	delete(before, lockName)
	delete(after, lockName)
	if !reflect.DeepEqual(before, after) {
		t.Errorf("%v, but files have changed", err)
	}
	return err
}

// wantRepaired opens the ledger and compares its rows.
func wantRepaired(t *testing.T, dir string, want []fence.Row) fence.Meta {
	t.Helper()
	checkFile(t, filepath.Join(dir, ledgerName))
	l, err := Open(t.Context(), dir, soon)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(false)
	got, err := storetest.All(t, l, "/")
	if diff := storetest.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("other rows, error %v (-want +got):\n%.2000s", err, diff)
	}
	meta, err := l.Meta()
	if err != nil || meta.Clean {
		t.Fatalf("clean %t, error %v", meta.Clean, err)
	}
	return meta
}

func TestRepairOfASoundLedger(t *testing.T) {
	dir, rows := filled(t)
	before := listing(t, dir)
	r := repaired(t, dir, RepairOptions{Floor: Floor{Token: 5}})
	if r.Needed || r.Marks+r.Floors != len(rows) {
		t.Errorf("%+v", r)
	}
	if after := listing(t, dir); !reflect.DeepEqual(before, after) {
		t.Error("it has changed something")
	}
}

func TestRepairOfASuspectLedger(t *testing.T) {
	dir, rows := suspected(t)
	before := listing(t, dir)
	dry := repaired(t, dir, RepairOptions{DryRun: true})
	if after := listing(t, dir); !reflect.DeepEqual(before, after) {
		t.Error("a dry run has changed something")
	}
	r := repaired(t, dir, RepairOptions{})
	if !r.Needed || !r.IsSuspect || !strings.HasSuffix(r.Suspect, ": input/output error") || r.Damage != "" || len(r.Lost) > 0 ||
		r.Marks+r.Floors != len(rows) || r.Recovered != 0 || r.Highest != 50 || r.Meta.Settle != time.Second {
		t.Errorf("%+v", r)
	}
	if dry.Old != "" || dry.Marks != r.Marks || dry.Floors != r.Floors || dry.Meta != r.Meta {
		t.Errorf("dry: %+v", dry)
	}
	if meta := wantRepaired(t, dir, rows); meta != r.Meta || meta.ID == "" {
		t.Errorf("%+v, told %+v", meta, r.Meta)
	}
	after := listing(t, dir)
	if after[filepath.Base(r.Old)] != before[ledgerName] {
		t.Errorf("%s is not the old file", r.Old)
	}
	if names := slices.Sorted(keysOf(after)); len(names) != 3 { // ledger, lock and the old file
		t.Errorf("it leaves %q", names)
	}
	if again := repaired(t, dir, RepairOptions{}); again.Needed {
		t.Errorf("it is to be repaired again: %+v", again)
	}
	l := start(t, dir)
	if err := l.Commit(t.Context(), numbered(51)); err != nil {
		t.Error(err)
	}
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestRepairGoesOn: a repair that ended before the marker was removed is simply
// done again, and transactions go on being counted, so that a marker of later
// tells a copy of now from the ledger.
func TestRepairGoesOn(t *testing.T) {
	dir, rows := suspected(t)
	marker := listing(t, dir)[suspectName]
	seen := map[string]bool{}
	for range 3 {
		r := repaired(t, dir, RepairOptions{})
		seen[r.Old] = true
		if err := os.WriteFile(filepath.Join(dir, suspectName), []byte(marker), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("three old files are kept as %v", seen)
	}
	old := listing(t, dir)[ledgerName]
	repaired(t, dir, RepairOptions{})
	wantRepaired(t, dir, rows)
	l := start(t, dir)
	if err := l.Commit(t.Context(), numbered(60)); err != nil {
		t.Fatal(err)
	}
	_ = l.fail(errors.New("again"))
	l.crash()
	sound := listing(t, dir)[ledgerName]
	if err := os.WriteFile(filepath.Join(dir, ledgerName), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerDamaged, "an older file", "--floor N")
	if err := os.WriteFile(filepath.Join(dir, ledgerName), []byte(sound), 0o600); err != nil {
		t.Fatal(err)
	}
	repaired(t, dir, RepairOptions{})
}

// TestRepairOfAnotherFile: a sound file under a marker is not enough.
func TestRepairOfAnotherFile(t *testing.T) {
	dir, _ := suspected(t)
	_, other := newLedgerFile(t)
	files := listing(t, dir)
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(ledgerName, listing(t, other)[ledgerName])
	wantOpenError(t, refused(t, dir, Options{}, RepairOptions{Floor: Floor{Token: 99}}), fence.ErrLedgerForeign, suspectName)
	put(ledgerName, files[ledgerName])
	wantOpenError(t, refused(t, dir, Options{ExpectID: strings.Repeat("0", 32)}, RepairOptions{}), fence.ErrLedgerForeign, "expected 000")
	for _, text := range []string{"", "2026-01-02T03:04:05Z input/output error\n", files[suspectName] + "more\n"} {
		put(suspectName, text)
		wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerDamaged, "does not say which transaction", "--floor N")
	}
	r := repaired(t, dir, RepairOptions{Floor: Floor{Token: 51}})
	if len(r.Lost) != 1 || r.OldFloor != 0 || r.Meta.Global != 51 {
		t.Errorf("%+v", r)
	}
}

// TestRepairKeepsAReplacedLedgersMarks: a backup was put in the place of the
// ledger in use. It is sound, but does not have all that was acknowledged.
func TestRepairKeepsAReplacedLedgersMarks(t *testing.T) {
	l, dir := newLedger(t)
	if err := l.Commit(t.Context(), numbered(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ledgerName)
	backup := listing(t, dir)[ledgerName]
	if err := l.Commit(t.Context(), numbered(2)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(path+".backup", []byte(backup), 0o600), os.Rename(path+".backup", path)); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), numbered(3)); !errors.Is(err, errReplaced) {
		t.Fatal(err)
	}
	l.crash()
	wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerDamaged, "or this is an older file")
	if r := repaired(t, dir, RepairOptions{Floor: Floor{Token: 3}}); r.Meta.Global != 3 {
		t.Errorf("%+v", r)
	}
}

func TestRepairErrors(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		dir, _ := suspected(t)
		if err := os.Rename(filepath.Join(dir, ledgerName), filepath.Join(dir, "elsewhere")); err != nil {
			t.Fatal(err)
		}
		wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerMissing)
		if err := os.Rename(filepath.Join(dir, "elsewhere"), filepath.Join(dir, ledgerName)); err != nil {
			t.Fatal(err)
		}
		empty := t.TempDir()
		wantOpenError(t, refused(t, empty, Options{}, RepairOptions{}), fence.ErrLedgerMissing)
	})
	t.Run("held", func(t *testing.T) {
		l, dir := newLedger(t)
		wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerHeld)
		_ = l.fail(errors.New("a failure"))
		wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerHeld)
		wantOpenError(t, refused(t, dir, Options{}, RepairOptions{DryRun: true}), fence.ErrLedgerHeld)
	})
	t.Run("lock held", func(t *testing.T) {
		dir, _ := suspected(t)
		lock, err := takeLock(t.Context(), dir, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer releaseLock(lock)
		wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerHeld)
	})
	t.Run("newer", func(t *testing.T) {
		dir, _ := suspected(t)
		edit(t, dir, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(formatKey, encodeFormat(2)) })
		wantOpenError(t, refused(t, dir, Options{}, RepairOptions{Floor: Floor{Token: 99}}), fence.ErrLedgerNewer, "format 2")
		edit(t, dir, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(formatKey, encodeFormat(format)) })
	})
	t.Run("network", func(t *testing.T) {
		dir, _ := suspected(t)
		nfs := func(string) (string, error) { return "NFS", nil }
		wantOpenError(t, refused(t, dir, Options{filesystem: nfs}, RepairOptions{}), fence.ErrLedgerNetworkFS)
	})
	t.Run("nothing left", func(t *testing.T) {
		_, dir := newLedgerFile(t)
		for _, file := range []string{"", strings.Repeat("x", 40000)} {
			if err := os.WriteFile(filepath.Join(dir, ledgerName), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			wantOpenError(t, refused(t, dir, Options{}, RepairOptions{Floor: Floor{Token: 99}}), fence.ErrLedgerDamaged, "restore a backup")
		}
	})
}

func TestRepairFloors(t *testing.T) {
	dir, rows := suspected(t)
	if err := os.WriteFile(filepath.Join(dir, suspectName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for floor, want := range map[Floor]string{
		{Token: 49}: "token 50 was given out", {Token: 50}: "token 50 was given out",
		{Now: true}: "no times", {Token: fence.MaxToken + 1}: "at most",
	} {
		var bad *FloorError
		if err := refused(t, dir, Options{}, RepairOptions{Floor: floor}); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("floor %+v: %v", floor, err)
		}
	}
	if r := repaired(t, dir, RepairOptions{Floor: Floor{Token: 1000}}); r.Meta.Global != 1000 {
		t.Errorf("%+v", r)
	}
	// A floor that is there stays.
	if err := os.WriteFile(filepath.Join(dir, suspectName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := repaired(t, dir, RepairOptions{Floor: Floor{Token: 70}}); r.Meta.Global != 1000 || r.OldFloor != 1000 {
		t.Errorf("%+v", r)
	}
	if meta := wantRepaired(t, dir, rows); meta.Global != 1000 {
		t.Errorf("%+v", meta)
	}
}

func TestFloorsOfTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	micros := fence.Token(now.UnixMicro())
	dir := filepath.Join(t.TempDir(), "state")
	opts := Options{Wait: -1, Kind: fence.TimeTokens, Now: func() time.Time { return now.Add(-time.Hour) }}
	if _, err := Create(t.Context(), dir, opts); err != nil {
		t.Fatal(err)
	}
	opts.Now = func() time.Time { return now }
	var bad *FloorError
	if _, _, err := RaiseFloor(t.Context(), dir, opts, Floor{Token: micros + 11*60e6}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "future") {
		t.Errorf("a floor in the future: %v", err)
	}
	before, after, err := RaiseFloor(t.Context(), dir, opts, Floor{Now: true})
	if err != nil || before.Global != micros-3600e6 || after.Global != micros {
		t.Errorf("%+v, %+v, error %v", before, after, err)
	}
	// Rows ahead of our clock, and nothing that says how old the file is.
	l := start(t, dir)
	if err := l.Commit(t.Context(), []fence.Row{row("/ahead", micros+60e6, "o")}); err != nil {
		t.Fatal(err)
	}
	l.crash()
	if err := os.WriteFile(filepath.Join(dir, suspectName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, refused(t, dir, opts, RepairOptions{}), fence.ErrLedgerDamaged, "--floor now")
	r, err := MakeSound(t.Context(), dir, opts, RepairOptions{Floor: Floor{Now: true}})
	if err != nil || r.Meta.Global != micros+60e6+1 || r.Meta.Kind != fence.TimeTokens {
		t.Errorf("%+v, error %v", r, err)
	}
}

func TestRaiseFloor(t *testing.T) {
	dir, rows := filled(t)
	for _, c := range []struct{ floor, want fence.Token }{{10, 10}, {4, 10}, {11, 11}} {
		before, after, err := RaiseFloor(t.Context(), dir, soon, Floor{Token: c.floor})
		if err != nil || after.Global != c.want || after.Clean || before.Global > after.Global {
			t.Errorf("floor %s: %+v, %+v, error %v", c.floor, before, after, err)
		}
	}
	if meta := wantRepaired(t, dir, rows); meta.Global != 11 || meta.Settle != time.Second {
		t.Errorf("%+v", meta)
	}
	var bad *FloorError
	if _, _, err := RaiseFloor(t.Context(), dir, soon, Floor{Now: true}); !errors.As(err, &bad) {
		t.Errorf("now: %v", err)
	}
	l := start(t, dir)
	_, _, err := RaiseFloor(t.Context(), dir, soon, Floor{Token: 12})
	wantOpenError(t, err, fence.ErrLedgerHeld)
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	_, _, err = RaiseFloor(t.Context(), dir, Options{Wait: -1, ExpectID: fmt.Sprintf("%032x", 7)}, Floor{Token: 12})
	wantOpenError(t, err, fence.ErrLedgerForeign)
}

// TestRepairOfALink: a ledger file that lies elsewhere is replaced there.
func TestRepairOfALink(t *testing.T) {
	dir, rows := suspected(t)
	path, elsewhere := filepath.Join(dir, ledgerName), filepath.Join(t.TempDir(), "the-ledger")
	if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	r := repaired(t, dir, RepairOptions{})
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 || filepath.Dir(r.Old) != filepath.Dir(elsewhere) {
		t.Errorf("mode %v, error %v, old file %s", info.Mode(), err, r.Old)
	}
	wantRepaired(t, dir, rows)
}

// TestRepairAsRoot: the user that serves the ledger can still use it.
func TestRepairAsRoot(t *testing.T) {
	if testing.Short() {
		t.Skip("needs root")
	}
	needRoot(t)
	dir, _ := suspected(t)
	const nobody = 65534
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, filepath.Join(dir, ledgerName), filepath.Join(dir, suspectName)} {
		if err := os.Chown(name, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	repaired(t, dir, RepairOptions{})
	h := runHelper(t, "open-nobody", dir)
	if got := h.rest(); got != "ok <nil>\n" {
		t.Errorf("its user gets %q", got)
	}
}
