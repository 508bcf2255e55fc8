package integration

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// limitFiles has every write of fencegate behind the first size bytes of a file
// fail, as on a full disk; ^0 is no limit.
func limitFiles(t testing.TB, s *harness.Server, size uint64) {
	t.Helper()
	limitPID(t, s.Process().PID(), size)
}

func limitPID(t testing.TB, pid int, size uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: size, Max: ^uint64(0)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}

// The ledger's disk is full for a while. Shown: that it is, and that it works
// again, is told in the log and by /readyz.
func TestFullLedgerIsTold(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--max-wait", "100ms")
	limitFiles(t, s, 1)
	says(t, s, "503 ledger_unavailable", "DELETE", report, stampOf(7, "holder"), "")
	r := s.AwaitLog(harness.Message("the ledger's disk is full"))
	if r.Text("level") != "ERROR" || !strings.HasPrefix(r.Text("path"), s.State) || !strings.Contains(r.Text("do"), "free space") {
		t.Errorf("it logs %v", r)
	}
	if said := readiness(s); !strings.HasPrefix(said, "503 the ledger's disk is full") {
		t.Errorf("/readyz says %s", said)
	}
	limitFiles(t, s, ^uint64(0))
	s.AwaitLog(harness.Message("the ledger has space again"))
	if said := readiness(s); said != "200 ready" {
		t.Errorf("with space again /readyz says %s", said)
	}
	says(t, s, "201", "PUT", report, stampOf(7, "holder"), "seven")
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A backup is restored under a running fencegate. Shown: nothing more is
// acknowledged against marks that the next start would not have, and the
// operator is told, also by the exit code.
func TestReplacedLedgerIsTold(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	says(t, s, "201", "PUT", report, stampOf(7, "holder"), "seven")
	ledger := s.State + "/ledger.db"
	if err := os.WriteFile(ledger+".backup", contentIfAny(t, ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ledger+".backup", ledger); err != nil {
		t.Fatal(err)
	}
	says(t, s, "503 ledger_unavailable", "PUT", report, stampOf(8, "next"), "eight")
	r := s.AwaitLog(harness.Message("the ledger failed"))
	if r.Text("level") != "ERROR" || !strings.Contains(r.Text("error"), "replaced or removed") || !strings.Contains(r.Text("do"), "fencegate ledger repair") {
		t.Errorf("it logs %v", r)
	}
	if said := readiness(s); !strings.HasPrefix(said, "503 the ledger failed") {
		t.Errorf("/readyz says %s", said)
	}
	holds(t, s, report, "seven")
	says(t, s, "200", "GET", report, fence.Stamp{}, "")
	if code := s.Stop(); code != 65 {
		t.Errorf("exit code %d, want 65", code)
	}
}
