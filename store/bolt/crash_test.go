package bolt

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fencegate/fence"
)

func TestSecondOpener(t *testing.T) {
	_, dir := newPlace(t)
	first := runHelper(t, "hold", dir)
	if first.line() != "held" {
		t.Fatal("the first opener did not start")
	}
	pid := strconv.Itoa(first.Process.Pid)
	began := time.Now()
	_, err := Open(t.Context(), dir, Options{Wait: 100 * time.Millisecond})
	wantOpenError(t, err, fence.ErrLedgerHeld, filepath.Join(dir, ledgerName), "process "+pid, filepath.Join(dir, lockName))
	if waited := time.Since(began); waited < 100*time.Millisecond || waited > 5*time.Second {
		t.Errorf("it waited %s", waited)
	}
	opened := make(chan error)
	go func() {
		l, err := Open(t.Context(), dir, Options{Wait: time.Minute})
		if err == nil {
			err = l.Close(false)
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("the second opener did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	first.kill()
	if err := <-opened; err != nil {
		t.Fatalf("after kill -9 of the first: %v", err)
	}
	if meta, err := start(t, dir).Meta(); err != nil || meta.Clean {
		t.Errorf("after kill -9: clean %t, error %v", meta.Clean, err)
	}
}

// TestLockRemoved: who removes the lock file does not get in.
func TestLockRemoved(t *testing.T) {
	_, dir := newLedger(t)
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerHeld)
}

func TestKilledWhileCommitting(t *testing.T) {
	_, dir := newPlace(t)
	kills := 6
	if testing.Short() {
		kills = 2
	}
	acknowledged := fence.Token(0)
	for range kills {
		h := runHelper(t, "commit", dir)
		for range 25 {
			n, err := strconv.ParseUint(h.line(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			acknowledged = fence.Token(n)
		}
		if err := h.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for h.lines.Scan() { // what it could still say before it died
			n, _ := strconv.ParseUint(h.lines.Text(), 10, 64)
			acknowledged = max(acknowledged, fence.Token(n))
		}
		_ = h.Wait()
		checkNumbered(t, dir, acknowledged)
	}
}

// checkNumbered fails unless all batches up to acknowledged are there, and of
// the next one all or nothing.
func checkNumbered(t *testing.T, dir string, acknowledged fence.Token) {
	t.Helper()
	l, err := Open(t.Context(), dir, soon)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(false)
	for i := fence.Token(1); i <= acknowledged+1; i++ {
		batch := numbered(i)[1:]
		there := 0
		for _, want := range batch {
			var got [1]fence.Row
			if err := l.Read([]fence.Key{want.Key}, got[:]); err != nil {
				t.Fatal(err)
			}
			if got[0].Token == want.Token && got[0].Owner == want.Owner {
				there++
			}
		}
		if there != len(batch) && (there != 0 || i <= acknowledged) {
			t.Fatalf("%d of %d rows of batch %d are there; %d was acknowledged", there, len(batch), i, acknowledged)
		}
	}
}

// TestFailedSync: what a failed fdatasync leaves behind, on both of the two
// that a commit makes.
func TestFailedSync(t *testing.T) {
	if testing.Short() {
		t.Skip("runs under strace")
	}
	const ok, full, suspect = "commit ok\ncommit ok\nread ok\nclose ok\n", "commit ok\ncommit full\nagain ok\nread ok\nclose ok\n",
		"commit ok\ncommit suspect\nread suspect\nclose suspect\n"
	for _, test := range []struct {
		name, inject, want string
	}{
		{"none", "fdatasync:error=EIO:when=99", ok},
		{"EIO, data", "fdatasync:error=EIO:when=5", suspect},
		{"EIO, meta", "fdatasync:error=EIO:when=6", suspect},
		{"ENOSPC, data", "fdatasync:error=ENOSPC:when=5", full},
		{"EDQUOT, data", "fdatasync:error=EDQUOT:when=5", full},
		{"ENOSPC, meta", "fdatasync:error=ENOSPC:when=6", suspect},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, dir := newPlace(t)
			h := runHelper(t, "faults", dir, "strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject="+test.inject)
			if got := h.rest(); got != test.want {
				t.Fatalf("got\n%swant\n%s", got, test.want)
			}
			if test.want != suspect {
				checkNumbered(t, dir, 2)
				return
			}
			wantOpenError(t, openError(t, dir, Options{}), fence.ErrLedgerSuspect, "(20", "fencegate ledger repair")
			if err := os.Remove(filepath.Join(dir, suspectName)); err != nil {
				t.Fatal(err)
			}
			l, err := Open(t.Context(), dir, soon)
			if err != nil {
				t.Fatal(err)
			}
			if meta, err := l.Meta(); err != nil || meta.Clean {
				t.Errorf("after a failure: clean %t, error %v", meta.Clean, err)
			}
			if err := l.Close(false); err != nil {
				t.Error(err)
			}
			checkNumbered(t, dir, 1)
		})
	}
}
