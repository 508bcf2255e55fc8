package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// The disk reports an error for one commit of the ledger, and works again.
// Shown: S6 fail closed, nobody knows what is on disk then, so nothing protected
// begins any more, by retries or a restart, until the ledger has been repaired;
// and what was refused never takes effect.
func TestFailedCommitLatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, call string }{
		{"fdatasync", "fdatasync"}, {"pwrite", "pwrite64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t)
			says(t, s, "201", "PUT", report, stampOf(33, "a"), "from A")
			traced(t, s, "-e", "trace="+c.call, "-e", "inject="+c.call+":error=EIO:when=1")

			says(t, s, "503 ledger_unavailable", "PUT", report, stampOf(34, "b"), "from B")
			says(t, s, "503 ledger_unavailable", "PUT", report, stampOf(34, "b"), "from B")
			says(t, s, "503 ledger_unavailable", "PUT", report, stampOf(33, "a"), "from A, whose mark is on disk")
			claims(t, s, "/other", stampOf(34, "b")).says("503 ledger_unavailable")
			says(t, s, "200", "GET", report, fence.Stamp{}, "")
			if said := readiness(s); !strings.HasPrefix(said, "503 the ledger failed") {
				t.Errorf("/readyz says %s", said)
			}
			if code := s.Stop(); code != 65 {
				t.Errorf("exit code %d, want 65", code)
			}

			suspect := filepath.Join(s.State, "ledger.suspect")
			again := harness.Start(t, "fencegate", s.Command())
			if code := again.Wait(); code != 65 {
				t.Errorf("a start over a suspect ledger ends with %d, want 65", code)
			}
			if said := strings.Join(again.Stderr(), "\n"); !strings.Contains(said, suspect) || !strings.Contains(said, "ledger repair") {
				t.Errorf("it says %s; want %s and what to do", said, suspect)
			}
			tookEffect(t, store, "PUT "+report+" from A")

			repair := harness.Start(t, "repair", exec.Command(harness.Build(t), "ledger", "repair", "--state", s.State))
			if code := repair.Wait(); code != 0 {
				t.Fatalf("the repair ends with %d", code)
			}
			if _, err := os.Stat(suspect); !os.IsNotExist(err) {
				t.Errorf("after the repair %s is there: %v", suspect, err)
			}
			s.Restart()
			says(t, s, "412 stale_token", "PUT", report, stampOf(32, "z"), "from a holder before A")
			says(t, s, "204", "PUT", report, stampOf(34, "b"), "from B")
			tookEffect(t, store, "PUT "+report+" from A", "PUT "+report+" from B")
		})
	}
}
