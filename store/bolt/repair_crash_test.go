package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

// straced is a helper under strace, which does inject to its system calls.
func straced(t *testing.T, name, dir, inject string) *helper {
	t.Helper()
	return runHelper(t, name, dir, "strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject="+inject)
}

// TestRepairThatIsEnded kills a repair at each system call that changes
// something, or has the call fail. Whatever is left, either the next start
// refuses and the repair can be done again, or it has been finished.
func TestRepairThatIsEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("runs under strace")
	}
	dir, rows := suspected(t)
	before := listing(t, dir)
	for _, how := range []string{"signal=KILL", "error=EIO", "error=ENOSPC"} {
		for _, call := range []string{"pwrite64", "fdatasync", "fsync", "ftruncate", "linkat", "renameat", "unlinkat"} {
			t.Run(how+" "+call, func(t *testing.T) {
				t.Parallel()
				ended, finished := 0, 0
				for n := 1; ; n++ {
					dir := t.TempDir()
					for name, content := range before {
						if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					h := straced(t, "repair", dir, fmt.Sprintf("%s:%s:when=%d", call, how, n))
					got := h.rest()
					if got == "repaired true\n" {
						if wantRepaired(t, dir, rows); n > 1 {
							break
						}
						continue // the process id in the lock file is but a courtesy
					}
					if got != "" {
						t.Fatalf("%s %d: %q", call, n, got)
					}
					ended++
					if _, err := os.Lstat(filepath.Join(dir, suspectName)); err == nil {
						wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerSuspect, "input/output error")
						if _, err := os.Lstat(filepath.Join(dir, newName)); err == nil && how != "signal=KILL" {
							t.Error("it leaves the new file")
						}
						repaired(t, dir, RepairOptions{})
					} else {
						finished++
					}
					if wantRepaired(t, dir, rows); t.Failed() {
						t.Fatalf("ended at %s %d", call, n)
					}
				}
				if finished > 1 || ended == 0 {
					t.Errorf("%d of %d ends came after the marker was removed", finished, ended)
				}
				t.Logf("ended %d times", ended)
			})
		}
	}
}

// TestRepairWithoutLinks: on a file system without second names the old file is
// copied.
func TestRepairWithoutLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("runs under strace")
	}
	dir, rows := suspected(t)
	before := listing(t, dir)
	if got := straced(t, "repair", dir, "linkat:error=EPERM").rest(); got != "repaired true\n" {
		t.Fatal(got)
	}
	wantRepaired(t, dir, rows)
	kept := 0
	for name, content := range listing(t, dir) {
		if strings.HasPrefix(name, ledgerName+".old-") && content == before[ledgerName] {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d copies of the old file", kept)
	}
}

// TestRepairIsDurable: each step is synced before the next, as a power loss
// between them would show.
func TestRepairIsDurable(t *testing.T) {
	if testing.Short() {
		t.Skip("runs under strace")
	}
	dir, _ := suspected(t)
	trace := filepath.Join(t.TempDir(), "trace")
	h := runHelper(t, "repair", dir, "strace", "-f", "-qq", "-y", "-o", trace, "-e", "trace=fsync,linkat,renameat,unlinkat,pwrite64")
	if got := h.rest(); got != "repaired true\n" {
		t.Fatal(got)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, line := range strings.Split(string(text), "\n") {
		call := regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += 0`).FindStringSubmatch(line)
		if strings.Contains(line, "pwrite64(") && strings.Contains(line, newName) {
			steps = append(steps, "write")
			continue
		}
		if call == nil {
			continue
		}
		what := call[1]
		switch {
		case what == "fsync" && strings.Contains(call[2], newName):
			what = "sync file"
		case what == "fsync" && strings.Contains(call[2], "<"+dir+">"):
			what = "sync directory"
		case what == "unlinkat" && strings.Contains(call[2], suspectName):
			what = "unmark"
		}
		steps = append(steps, what)
	}
	got := strings.Join(steps, ", ")
	if end := "write, sync file, linkat, sync directory, renameat, sync directory, unmark, sync directory"; !strings.HasSuffix(got, end) {
		t.Errorf("it ends with %q, want %q", got[max(0, len(got)-300):], end)
	}
}

// TestRepairAfterAnyFailure has each write and each sync of a ledger fail in
// turn, and repairs what it leaves. All that was acknowledged is there.
func TestRepairAfterAnyFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("runs under strace")
	}
	for _, call := range []string{"pwrite64", "fdatasync"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			latched := 0
			for n := 1; ; n++ {
				_, dir := newPlace(t)
				got := straced(t, "faults", dir, fmt.Sprintf("%s:error=EIO:when=%d", call, n)).rest()
				if strings.HasSuffix(got, "close ok\n") {
					if n == 1 && call == "pwrite64" {
						continue // the process id in the lock file
					}
					break // there is no nth
				}
				wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerSuspect, "ledger repair")
				r := repaired(t, dir, RepairOptions{})
				if len(r.Lost) > 0 || r.Meta.Clean {
					t.Errorf("%s %d: %+v", call, n, r)
				}
				checkNumbered(t, dir, fence.Token(strings.Count(got, "commit ok")))
				latched++
			}
			if latched < 6 { // two in each of three transactions
				t.Errorf("only %d failures", latched)
			}
			t.Logf("%d failures", latched)
		})
	}
}

// TestRepairAfterFailureUnderLoad: the same after many commits, when pages are
// used again.
func TestRepairAfterFailureUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("runs under strace")
	}
	_, dir := newPlace(t)
	acknowledged := fence.Token(0)
	for i, n := range []int{23, 24, 41, 42, 77} { // odd: data; even: meta page
		h := straced(t, "commit", dir, fmt.Sprintf("fdatasync:error=EIO:when=%d", n))
		h.Stderr = nil
		for _, line := range strings.Fields(h.rest()) {
			token, err := strconv.ParseUint(line, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			acknowledged = fence.Token(token)
		}
		if acknowledged < fence.Token(9*(i+1)) {
			t.Fatalf("only %d commits", acknowledged)
		}
		if r := repaired(t, dir, RepairOptions{}); !r.Needed || len(r.Lost) > 0 {
			t.Fatalf("%+v", r)
		}
		checkNumbered(t, dir, acknowledged)
	}
}

// lastTransaction returns a file before and after one more commit, which was
// not acknowledged, and the marker that tells so.
func lastTransaction(t *testing.T) (dir string, before, after []byte, rows []fence.Row) {
	t.Helper()
	dir, rows = suspected(t)
	path := filepath.Join(dir, ledgerName)
	before = []byte(listing(t, dir)[ledgerName])
	marker := listing(t, dir)[suspectName]
	if err := os.Remove(filepath.Join(dir, suspectName)); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), dir, soon)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), numbered(51)); err != nil {
		t.Fatal(err)
	}
	l.crash()
	if err := os.WriteFile(filepath.Join(dir, suspectName), []byte(marker), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return dir, before, after, rows
}

// TestRepairOfAHalfWrittenCommit: the commit that failed is on disk in part.
// What was acknowledged is in the tree of the other meta page; what else can be
// read is kept too.
func TestRepairOfAHalfWrittenCommit(t *testing.T) {
	dir, before, after, rows := lastTransaction(t)
	path := filepath.Join(dir, ledgerName)
	valid, _ := metaPagesOf(bytes.NewReader(after), int64(len(after)))
	if len(valid) != 2 {
		t.Fatal("both meta pages should be valid")
	}
	size := int(valid[0].pageSize)
	slot := int(valid[0].transaction % 2)
	spoilt, refusals := 0, 0
	for id := 2; id < len(after)/size; id++ {
		page := after[id*size : (id+1)*size]
		if id < len(before)/size && bytes.Equal(page, before[id*size:(id+1)*size]) {
			continue
		}
		file := bytes.Clone(after)
		clear(file[id*size : (id+1)*size])
		if _, err := verify(context.Background(), bytes.NewReader(file), int64(len(file)), nil); err == nil {
			continue // of no use to that transaction
		}
		spoilt++
		// Had it been acknowledged, or is nothing known of it, the tree before
		// is not enough.
		meta, err := verify(t.Context(), bytes.NewReader(after), int64(len(after)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, transaction := range []uint64{valid[0].transaction, 0} {
			if binary.NativeEndian.Uint16(after[id*size+8:]) == freelistPage {
				break // has no rows
			}
			refusals++
			other := t.TempDir()
			if transaction > 0 {
				if err := markSuspect(other, time.Now(), meta.ID, transaction, errors.New("a failure")); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(other, ledgerName), file, 0o600); err != nil {
				t.Fatal(err)
			}
			wantOpenError(t, refused(t, other, Options{}, RepairOptions{}), fence.ErrLedgerDamaged, fmt.Sprintf("page %d", id))
		}
		repairsTo(t, dir, path, file, rows, fmt.Sprintf("page %d of the failed commit is zero", id))
	}
	if spoilt == 0 || refusals < 2 {
		t.Errorf("%d pages were spoilt, and %d repairs refused", spoilt, refusals)
	}
	// Its meta page is lost: torn, or unreadable ever since.
	file := bytes.Clone(after)
	clear(file[slot*size : (slot+1)*size])
	if r := repairsTo(t, dir, path, file, rows, "the meta page of the failed commit is zero"); r.Recovered == 0 || r.Highest != 51 {
		t.Errorf("the rows of the failed commit can be read, but are not kept: %+v", r)
	}
	// It is that of the last acknowledged one.
	file = bytes.Clone(before)
	file[slot*size+pageHeader+20] ^= 1
	repairsTo(t, dir, path, file, rows, "the meta page that the failed commit was to overwrite is damaged")
	file = bytes.Clone(before)
	clear(file[(1-slot)*size : (2-slot)*size])
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, refused(t, dir, Options{}, RepairOptions{}), fence.ErrLedgerDamaged, "acknowledged after transaction")
	if err := os.WriteFile(path, after, 0o600); err != nil {
		t.Fatal(err)
	}
	repaired(t, dir, RepairOptions{})
}

// repairsTo repairs file and wants all of rows, or what is above them.
func repairsTo(t *testing.T, dir, path string, file []byte, rows []fence.Row, what string) Repair {
	t.Helper()
	marker := []byte(listing(t, dir)[suspectName])
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := MakeSound(t.Context(), dir, soon, RepairOptions{})
	if err != nil || len(r.Lost) > 0 {
		t.Fatalf("%s: %+v, error %v", what, r, err)
	}
	got := map[fence.Key]fence.Row{}
	if _, err := Inspect(t.Context(), dir, soon, func(row *fence.Row) error { got[row.Key] = *row; return nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, row := range rows {
		if row.Above(got[row.Key]) {
			t.Errorf("%s: %s of %s fell from %s to %s", what, row.Kind, row.Path, row.Token, got[row.Key].Token)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, suspectName), marker, 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}
