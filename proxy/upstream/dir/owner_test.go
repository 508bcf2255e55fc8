package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

func TestLedgerID(t *testing.T) {
	root := filepath.Join(t.TempDir(), "made/here")
	wantID := func(want string) {
		t.Helper()
		if id, err := LedgerID(root); id != want || err != nil {
			t.Errorf("LedgerID: %q, %v; want %q", id, err, want)
		}
	}
	wantID("")
	if _, err := os.Lstat(root); err == nil {
		t.Error("LedgerID made the root")
	}
	open := func(id string) error {
		t.Helper()
		d, err := Open(root, Options{LedgerID: id})
		if err == nil {
			err = d.Close()
		}
		return err
	}
	for _, id := range []string{"", "first", "first"} {
		if err := open(id); err != nil {
			t.Fatalf("Open for ledger %q: %v", id, err)
		}
		wantID(id)
	}

	// Left over from an upload that was cut off: not to be touched yet.
	left := filepath.Join(root, area, "staged/left")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"second", ""} {
		err := open(id)
		var oe *fence.OpenError
		if !errors.Is(err, fence.ErrLedgerForeign) || !errors.As(err, &oe) {
			t.Fatalf("Open for ledger %q: %v", id, err)
		}
		if oe.Path != filepath.Join(root, area, "ledger-id") || !strings.Contains(oe.Error(), "ledger first") || !strings.Contains(oe.Remedy, "remove this file") {
			t.Errorf("error does not help: %v", err)
		}
		if _, err := os.Lstat(left); err != nil {
			t.Errorf("a foreign ledger swept: %v", err)
		}
	}
	wantID("first")

	// The deliberate take-over that the remedy speaks of.
	if err := os.Remove(filepath.Join(root, area, "ledger-id")); err != nil {
		t.Fatal(err)
	}
	if err := open("second"); err != nil {
		t.Fatal(err)
	}
	wantID("second")
	wantStagingEmpty(t, root)

	for _, damaged := range []string{"", "\n", "two\nlines\n", "a b\n", strings.Repeat("x", 129) + "\n", strings.Repeat("x", 1000)} {
		if err := os.WriteFile(filepath.Join(root, area, "ledger-id"), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LedgerID(root); !errors.Is(err, fence.ErrLedgerForeign) {
			t.Errorf("LedgerID of %q: %v", damaged, err)
		}
		if err := open("second"); !errors.Is(err, fence.ErrLedgerForeign) {
			t.Errorf("Open on %q: %v", damaged, err)
		}
	}
	for _, id := range []string{"two words", "two\nlines", strings.Repeat("x", 129)} {
		if err := open(id); err == nil {
			t.Errorf("ledger id %q was accepted", id)
		}
	}
}

// Two on one root would sweep each other's uploads.
func TestSecondOpenIsRefused(t *testing.T) {
	s := openDir(t)
	_, err := Open(s.root, Options{})
	var oe *fence.OpenError
	if !errors.Is(err, fence.ErrLedgerHeld) || !errors.As(err, &oe) || !strings.Contains(err.Error(), "served by another process") {
		t.Fatalf("second Open: %v", err)
	}
	s.do(t, request("PUT", "/a", "1"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(s.root, Options{})
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, "linked")
	if err := os.Mkdir(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(linked, area)); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{file, filepath.Join(file, "below"), linked} {
		if d, err := Open(root, Options{}); err == nil {
			d.Close()
			t.Errorf("%s was opened", root)
		}
	}
}

// The root itself may be a link: that is the operator's business.
func TestRootThroughLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data", link); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, link)
	s.do(t, request("PUT", "/a", "1"))
	if got := s.content(t, "a"); got != "1" {
		t.Errorf("a is %q", got)
	}
}

// A root that is about to be given up is waited for.
func TestOpenWaits(t *testing.T) {
	root := t.TempDir()
	first, err := Open(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root, Options{Wait: 2 * lockPoll}); !errors.Is(err, fence.ErrLedgerHeld) {
		t.Errorf("a root that is served, in vain: %v", err)
	}
	second := make(chan error, 1)
	go func() {
		d, err := Open(root, Options{Wait: time.Minute})
		if err == nil {
			err = d.Close()
		}
		second <- err
	}()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
}
