package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/fence"
)

// A commit into a file that the next start does not find is none.
func TestReplacedFileLatches(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"restored": func(path string) error {
			content, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".backup", content, 0o600), os.Rename(path+".backup", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, dir := newLedger(t)
			path := filepath.Join(dir, ledgerName)
			if err := errors.Join(os.Link(path, path+".kept"), replace(path)); err != nil {
				t.Fatal(err)
			}
			if err := l.Commit(t.Context(), []fence.Row{row("/1", 1, "o")}); !errors.Is(err, errReplaced) {
				t.Errorf("Commit: %v", err)
			}
			wantLatched(t, l, dir, errReplaced)
			if err := os.Rename(path+".kept", path); err != nil { // for the check at the end
				t.Fatal(err)
			}
		})
	}
	t.Run("the directory", func(t *testing.T) {
		l, dir := newLedger(t)
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Fatal(err)
		}
		if err := l.Commit(t.Context(), []fence.Row{row("/1", 1, "o")}); !errors.Is(err, errReplaced) || !strings.Contains(err.Error(), suspectName) {
			t.Errorf("Commit: %v", err)
		}
		if err := os.Rename(dir+".old", dir); err != nil {
			t.Fatal(err)
		}
	})
}
