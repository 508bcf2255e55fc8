package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A lost ledger is not replaced by an empty one because a target says --init.
func TestRunMakesALedgerOnlyOnce(t *testing.T) {
	t.Parallel()
	makefile, err := filepath.Abs("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for there, want := range map[string]bool{"other": true, "fencegate-state/ledger.db": false, "data/.fencegate/ledger-id": false} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, there)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, there), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("make", "-n", "-f", makefile, "run")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "serve") || strings.Contains(string(out), "--init") != want {
			t.Errorf("with %s, --init %v: %s, %v", there, want, out, err)
		}
	}
}
