package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
)

// wantLatched fails unless l is of no use any more, for cause, and the next
// start knows it.
func wantLatched(t *testing.T, l *Ledger, dir string, cause error) {
	t.Helper()
	_, startErr := l.Start(t.Context(), 0)
	for what, err := range map[string]error{
		"Read":   l.Read([]fence.Key{row("/1", 1, "").Key}, make([]fence.Row, 1)),
		"Below":  l.Below(t.Context(), fence.Root, func(fence.Row) bool { return true }),
		"Commit": l.Commit(t.Context(), []fence.Row{row("/other", 1, "")}),
		"Start":  startErr,
		"Close":  l.Close(true),
	} {
		if !errors.Is(err, fence.ErrLedgerSuspect) || cause != nil && !errors.Is(err, cause) || errors.Is(err, fence.ErrLedgerFull) {
			t.Errorf("%s after a failure: %v", what, err)
		}
	}
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerSuspect, time.Now().UTC().Format("2006-"))
}

// spoil puts another file under the ledger's descriptor.
func spoil(t *testing.T, l *Ledger, path string, flags int) {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Dup3(int(f.Fd()), int(l.file.Fd()), syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
}

func TestFailedWriteLatches(t *testing.T) {
	l, dir := newLedger(t)
	want := row("/1", 1, "o")
	if err := l.Commit(t.Context(), []fence.Row{want}); err != nil {
		t.Fatal(err)
	}
	spoil(t, l, filepath.Join(dir, ledgerName), os.O_RDONLY)
	err := l.Commit(t.Context(), []fence.Row{row("/1", 2, "secret-owner"), row("/2", 2, "secret-owner")})
	if !errors.Is(err, fence.ErrLedgerSuspect) || !errors.Is(err, syscall.EBADF) || strings.Contains(err.Error(), "secret") {
		t.Fatalf("Commit to a file that cannot be written: %v", err)
	}
	if meta, err := l.Meta(); err != nil || meta.Commits != 2 {
		t.Errorf("Meta after a failure: %+v, error %v", meta, err)
	}
	wantLatched(t, l, dir, syscall.EBADF)
	if err := os.Remove(filepath.Join(dir, suspectName)); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir)
	var got [1]fence.Row
	if err := again.Read([]fence.Key{want.Key}, got[:]); err != nil || got[0].Token != 1 {
		t.Errorf("after a failed commit: token %d, error %v", got[0].Token, err)
	}
}

// TestTruncatedWhileOpen: what faults under the mapping is an error, neither a
// panic nor a call that never returns.
func TestTruncatedWhileOpen(t *testing.T) {
	for _, left := range []int64{0, 4096, 2 * 4096} {
		_, dir := newLedgerFile(t)
		l := start(t, dir)
		for i := range fence.Token(200) {
			if err := l.Commit(t.Context(), numbered(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(filepath.Join(dir, ledgerName), left); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := l.Read([]fence.Key{row("/last", 1, "").Key}, make([]fence.Row, 1)); err == nil {
					t.Errorf("%d bytes left: Read succeeded", left)
				}
				if err := l.Below(t.Context(), fence.Root, func(fence.Row) bool { return true }); err == nil {
					t.Errorf("%d bytes left: Below succeeded", left)
				}
			})
		}
		wg.Wait()
		if err := l.Commit(t.Context(), numbered(300)); !errors.Is(err, fence.ErrLedgerSuspect) {
			t.Errorf("%d bytes left: Commit: %v", left, err)
		}
		wantLatched(t, l, dir, nil)
	}
}

// TestDamagedWhileOpen: a row that goes bad under a running ledger is no row
// and not a lower one, neither to read nor to raise.
func TestDamagedWhileOpen(t *testing.T) {
	_, dir := newLedgerFile(t)
	l := start(t, dir)
	want := row("/damaged-here", 1<<40, "o")
	if err := l.Commit(t.Context(), []fence.Row{want, row("/fine", 1, "")}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ledgerName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(file), want.Path.Key()+"\x01\x00\x00\x01", want.Path.Key()+"\x01\x00\x00\x00")
	if changed == string(file) {
		t.Fatal("the row is not in the file")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(changed), 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Read([]fence.Key{row("/fine", 1, "").Key, want.Key}, make([]fence.Row, 2)); err == nil {
		t.Error("Read succeeded")
	}
	if err := l.Below(t.Context(), fence.Root, func(fence.Row) bool { return true }); err == nil {
		t.Error("Below succeeded")
	}
	if err := l.Read([]fence.Key{row("/fine", 1, "").Key}, make([]fence.Row, 1)); err != nil {
		t.Errorf("Read of another row: %v", err)
	}
	if err := l.Commit(t.Context(), []fence.Row{row("/damaged-here", 5, "")}); !errors.Is(err, fence.ErrLedgerSuspect) {
		t.Errorf("Commit over it: %v", err)
	}
	wantLatched(t, l, dir, nil)
}

// TestFullDisk fills a small disk, makes room, and goes on.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("needs root")
	}
	needRoot(t)
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	dir, filler := filepath.Join(mount, "state"), filepath.Join(mount, "filler")
	if err := os.WriteFile(filler, make([]byte, 512<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), dir, soon); err != nil {
		t.Fatal(err)
	}
	l := start(t, dir)
	last := fence.Token(0)
	fill := func() {
		t.Helper()
		for {
			err := l.Commit(t.Context(), numbered(last+1))
			if errors.Is(err, fence.ErrLedgerFull) {
				return
			}
			if err != nil || last > 100_000 {
				t.Fatalf("batch %d: %v", last+1, err)
			}
			last++
		}
	}
	fill()
	// It stays usable, as often as it is tried.
	for range 20 {
		before, err := l.Meta()
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Commit(t.Context(), numbered(last+1)); err == nil {
			last++ // bbolt found enough in freed pages
			continue
		} else if !errors.Is(err, fence.ErrLedgerFull) || errors.Is(err, fence.ErrLedgerSuspect) {
			t.Fatalf("on a full disk: %v", err)
		}
		if after, err := l.Meta(); after != before || err != nil {
			t.Errorf("the meta record changed to %+v, error %v", after, err)
		}
		var got [1]fence.Row
		if err := l.Read([]fence.Key{row("/last", 1, "").Key}, got[:]); err != nil || got[0].Token != last {
			t.Fatalf("Read on a full disk: token %d, want %d, error %v", got[0].Token, last, err)
		}
	}
	if err := os.Truncate(filler, 256<<10); err != nil {
		t.Fatal(err)
	}
	full := last
	fill()
	if last < full+10 {
		t.Errorf("with 256 KiB more only %d more batches", last-full)
	}
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
	checkFile(t, filepath.Join(dir, ledgerName))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	checkNumbered(t, dir, last)
	l = start(t, dir)
	fill()
	if err := l.Close(true); err != nil && !errors.Is(err, fence.ErrLedgerFull) {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), filepath.Join(mount, "second"), soon); err != nil {
		wantOpenError(t, err, fence.ErrLedgerCreate, "no space left")
	} else {
		t.Error("a second ledger fitted on the full disk")
	}
	if _, err := os.Stat(filepath.Join(mount, "second", newName)); !os.IsNotExist(err) {
		t.Errorf("an unfinished ledger was left: %v", err)
	}
	checkFile(t, filepath.Join(dir, ledgerName))
	checkNumbered(t, dir, last)
}
