package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// The ledger's disk, a small one, runs full, and has space again later. Shown: S6
// fail closed, new marks are refused meanwhile and nothing of those writes gets
// to the store, what is covered by marks passes; and it recovers by itself.
func TestFullDiskOfTheLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs root")
	}
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatalf("mounting a small disk: %v; only root may: run this as root, or with -short", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(state, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	store, s := overFakeStore(t, "--state", state, "--max-wait", "1s")
	holder := stampOf(33, "holder")
	says(t, s, "201", "PUT", report, holder, "first")
	ballast := filepath.Join(state, "ballast")
	fill(t, ballast)
	refused := ""
	for i := 0; refused == "" && i < 2_000; i++ { // what the ledger file has room for still passes
		path := fmt.Sprintf("/object/%d", i)
		a, err := send(fresh, "PUT", s.URL()+path, holder, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case a.status != 201:
			refused = path
			if a.String() != "503 ledger_unavailable" {
				t.Fatalf("%s is answered %v on a full disk", path, a)
			}
		}
	}
	if refused == "" {
		t.Fatal("no write was refused on a full disk")
	}
	if said := readiness(s); said[:4] != "503 " {
		t.Errorf("/readyz says %s on a full disk", said)
	}
	says(t, s, "204", "PUT", report, holder, "second") // its mark is on disk
	says(t, s, "503 ledger_unavailable", "PUT", report, stampOf(34, "next"), "third")
	if found := requestsFor(store, refused); found != nil {
		t.Errorf("the store got %v, which was refused", found)
	}
	if got := store.Objects()[report]; got != "second" {
		t.Errorf("the store holds %q", got)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.AwaitReady()
	says(t, s, "412 stale_token", "PUT", report, holder, "fourth") // the mark of the refused one stays
	says(t, s, "204", "PUT", report, stampOf(34, "next"), "fifth")
	says(t, s, "201", "PUT", refused, holder, "at last")
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.Start()
	if said := readiness(s); said != "200 ready" {
		t.Errorf("after a clean end /readyz says %s", said)
	}
	says(t, s, "412 stale_token", "PUT", report, holder, "sixth")
	says(t, s, "200", "GET", refused, fence.Stamp{}, "")
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	check := harness.Start(t, "check", exec.Command(harness.Build(t), "ledger", "check", "--state", state))
	if code := check.Wait(); code != 0 {
		t.Errorf("ledger check ends with %d", code)
	}
}

// fill writes a file until nothing more fits beside it.
func fill(t testing.TB, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 4096); ; {
		if _, err := f.Write(piece); err != nil {
			return
		}
	}
}
