package bolt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

func TestCreate(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "deep", "state")
	// What an earlier one left when it was killed does not matter.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, newName), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	meta, err := Create(t.Context(), dir, Options{Kind: fence.TimeTokens, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	want := fence.Meta{ID: meta.ID, Kind: fence.TimeTokens, Global: fence.Token(now.UnixMicro())}
	l := start(t, dir)
	if len(meta.ID) != 32 || meta != want {
		t.Errorf("Create returned %+v, want %+v", meta, want)
	}
	want.Settle, want.Commits = time.Second, 1
	if got, err := l.Meta(); got != want || err != nil {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
	for name, mode := range map[string]os.FileMode{ledgerName: 0o600, lockName: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, error %v", name, info.Mode(), err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, newName)); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", newName, err)
	}
}

func TestCreateMakesPrivateDirectories(t *testing.T) {
	parent := t.TempDir()
	if _, err := Create(t.Context(), filepath.Join(parent, "a", "b"), soon); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a", "a/b"} {
		info, err := os.Stat(filepath.Join(parent, dir))
		if err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, error %v", dir, info.Mode(), err)
		}
	}
}

func TestCreateIDsDiffer(t *testing.T) {
	one, _ := newLedgerFile(t)
	other, _ := newLedgerFile(t)
	if one.ID == other.ID {
		t.Errorf("both are %s", one.ID)
	}
}

// TestCreateNeverReplaces: whatever lies there, Create leaves it, byte for byte.
func TestCreateNeverReplaces(t *testing.T) {
	_, dir := newLedgerFile(t)
	good, err := os.ReadFile(filepath.Join(dir, ledgerName))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a ledger": good, "an empty file": {}, "half a ledger": good[:6000], "text": []byte("hello")} {
		for _, file := range []string{ledgerName, suspectName} {
			dir := t.TempDir()
			path := filepath.Join(dir, file)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Create(t.Context(), dir, soon)
			wantOpenError(t, err, fence.ErrLedgerExists, "already initialised", "drop --init")
			if after, err := os.ReadFile(path); err != nil || string(after) != string(content) {
				t.Errorf("%s as %s was changed, error %v", name, file, err)
			}
		}
	}
	// One that is in use, too, and without waiting for it.
	l, dir := newLedger(t)
	_, err = Create(t.Context(), dir, Options{Wait: time.Hour})
	wantOpenError(t, err, fence.ErrLedgerExists)
	if err := l.Commit(t.Context(), numbered(1)); err != nil {
		t.Error(err)
	}
}

func TestCreateImpossible(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := Create(t.Context(), dir, soon)
		wantOpenError(t, err, fence.ErrLedgerCreate, file)
	}
	_, err := Create(t.Context(), t.TempDir(), Options{Kind: "odd"})
	wantOpenError(t, err, fence.ErrLedgerCreate, "odd")
}

func TestOrdinaryUser(t *testing.T) {
	if testing.Short() {
		t.Skip("needs root")
	}
	needRoot(t)
	_, dir := newLedgerFile(t)
	empty := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir)), empty, filepath.Dir(empty)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ helper, dir, class, text string }{
		{"create-nobody", empty, "create", "permission denied"},
		{"create-nobody", filepath.Join(empty, "below"), "create", "permission denied"},
		{"create-nobody", dir, "exists", "drop --init"},
		{"open-nobody", dir, "permission", "must be able to read and write"},
	} {
		out := runHelper(t, test.helper, test.dir).rest()
		if !strings.HasPrefix(out, test.class+" ") || !strings.Contains(out, test.text) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s %s: got %q, want %s … %s", test.helper, test.dir, out, test.class, test.text)
		}
	}
}

// TestCreateKilled kills Create before each system call that changes something.
func TestCreateKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("runs some twenty processes")
	}
	missing, complete := 0, 0
	for _, call := range []string{"mkdirat", "ftruncate", "pwrite64", "fdatasync", "fsync", "renameat"} {
		for n := 1; ; n++ {
			dir := filepath.Join(t.TempDir(), "state")
			inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)
			out := runHelper(t, "create", dir, "strace", "-f", "-qq", "-o", "/dev/null", "-e", inject).rest()
			if strings.HasPrefix(out, "ok") {
				break // n is past the last call
			} else if out != "" {
				t.Fatalf("%s %d: %s", call, n, out)
			}
			l, err := Open(t.Context(), dir, soon)
			if err == nil {
				complete++
				if err := l.Close(false); err != nil {
					t.Error(err)
				}
				continue
			}
			missing++
			wantOpenError(t, err, fence.ErrLedgerMissing)
			if _, err := Create(t.Context(), dir, soon); err != nil {
				t.Errorf("%s %d: again: %v", call, n, err)
			}
		}
	}
	if missing < 10 || complete < 1 {
		t.Errorf("found no ledger %d times and a complete one %d times: were the calls counted?", missing, complete)
	}
}

// TestCreateFailedSync: each sync that Create makes counts.
func TestCreateFailedSync(t *testing.T) {
	if testing.Short() {
		t.Skip("runs under strace")
	}
	// The parent directory; the file when it grows, the file as a whole, and
	// its directory. bbolt's: a new file, then data and meta page.
	for call, want := range map[string]int{"fsync": 4, "fdatasync": 3} {
		for n := 1; n <= want+1; n++ {
			dir := filepath.Join(t.TempDir(), "state")
			inject := fmt.Sprintf("inject=%s:error=EIO:when=%d", call, n)
			out := runHelper(t, "create", dir, "strace", "-f", "-qq", "-o", "/dev/null", "-e", inject).rest()
			if n <= want && (!strings.HasPrefix(out, "create ") || !strings.Contains(out, "input/output error")) ||
				n > want && !strings.HasPrefix(out, "ok") {
				t.Errorf("%s %d of %d failed: %s", call, n, want, out)
			}
		}
	}
}
