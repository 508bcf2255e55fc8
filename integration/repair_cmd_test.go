package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// replacedLedger is where a copy of the ledger, made before a write with token 8
// but after one with token 7 if late, took the place of the one in use.
func replacedLedger(t testing.TB, late bool) *place {
	t.Helper()
	s := harness.Fencegate(t)
	says(t, s, "201", "PUT", "/first", stampOf(6, "holder"), "six")
	backup := func() { // a copy like any program makes it
		if err := os.WriteFile(s.State+"/copy", contentIfAny(t, s.State+"/ledger.db"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	backup()
	says(t, s, "201", "PUT", report, stampOf(7, "holder"), "seven")
	if late {
		backup()
	}
	if err := os.Rename(s.State+"/copy", s.State+"/ledger.db"); err != nil {
		t.Fatal(err)
	}
	says(t, s, "503 ledger_unavailable", "PUT", report, stampOf(8, "next"), "eight")
	if code := s.Stop(); code != 65 {
		t.Fatalf("exit code %d", code)
	}
	return usedPlace(t, s)
}

func (p *place) repairs(code int, args ...string) *harness.Process {
	p.t.Helper()
	return ledger(p.t, code, append([]string{"repair", "--state", p.state}, args...)...)
}

// A ledger that is sound, but too old, is in the place of the one that failed.
// Shown: a repair tells it from one that has everything, and drops no fence
// unless it is told what makes up for it.
func TestRepairDropsNoFence(t *testing.T) {
	t.Parallel()
	t.Run("everything", func(t *testing.T) {
		t.Parallel()
		p := replacedLedger(t, true)
		p.repairs(0)
		if marks := marksOf(t, p.state); marks[report] != 7 {
			t.Errorf("marks %v", marks)
		}
		said := p.repairs(0).Stdout()
		if len(said) != 1 || !strings.Contains(said[0], "sound") || !strings.Contains(said[0], "nothing to repair") {
			t.Errorf("a second repair says %q", said)
		}
		saysOneLine(t, p.repairs(64, "--floor", "9"), "nothing to repair", "fencegate ledger floor 9")
	})
	t.Run("an older one", func(t *testing.T) {
		t.Parallel()
		p := replacedLedger(t, false)
		before := files(t, p.state)
		for _, args := range [][]string{nil, {"--dry-run"}} {
			refused := p.repairs(65, args...)
			saysOneLine(t, refused, "marks are lost, or may be", "restore a backup", "--floor N")
			if said := strings.Join(refused.Stdout(), "\n"); !strings.Contains(said, "lost:      what was acknowledged after transaction") ||
				!strings.Contains(said, "older file") || !strings.Contains(said, "changed:   nothing") {
				t.Errorf("it says\n%s", said)
			}
		}
		saysOneLine(t, p.repairs(64, "--floor", "6"), "token 6 was given out")
		saysOneLine(t, p.repairs(64, "--floor", "now"), "tokens: any")
		saysOneLine(t, p.repairs(64, "--floor", "x"), `--floor "x"`, "expected a number")
		saysOneLine(t, p.repairs(65, "--ledger-id", strings.Repeat("0", 32), "--floor", "8"), "another ledger")
		p.repairs(0, "--floor", "8", "--dry-run")
		if !equalFiles(before, files(t, p.state)) {
			t.Error("a repair that was refused, or a dry run, has changed something")
		}
		said := strings.Join(p.repairs(0, "--floor", "8").Stdout(), "\n")
		for _, words := range []string{"floor:     8, was 0", "old file:  " + p.state, "next:      start"} {
			if !strings.Contains(said, words) {
				t.Errorf("it says\n%s\nwithout %q", said, words)
			}
		}
		s := harness.Fencegate(t, "--state", p.state, "--upstream", "dir:"+p.data)
		says(t, s, "412 stale_token", "PUT", report, stampOf(6, "old"), "six")
		says(t, s, "412 stale_token", "PUT", "/new", stampOf(7, "holder"), "seven")
		holds(t, s, report, "seven")
		says(t, s, "204", "PUT", report, stampOf(8, "next"), "eight")
	})
}

// A damaged ledger: what is lost is told, and saved is only what is made up for.
func TestRepairOfADamagedLedger(t *testing.T) {
	t.Parallel()
	_, p := marked(t)
	p.rewrite(flipMark)
	refused := p.repairs(65)
	saysOneLine(t, refused, "damaged", "--floor N", report)
	if said := strings.Join(refused.Stdout(), "\n"); !strings.Contains(said, `lost:      mark of "`+report+`": the checksum is wrong`) || !strings.Contains(said, "rows:      2 marks, 1 floors") {
		t.Errorf("it says\n%s", said)
	}
	p.repairs(0, "--floor", "13")
	if marks := marksOf(t, p.state); len(marks) != 2 || marks["/zoo"] != 3 {
		t.Errorf("marks %v", marks)
	}
	s := harness.Fencegate(t, "--state", p.state, "--upstream", "dir:"+p.data)
	says(t, s, "412 stale_token", "PUT", "/zoo", stampOf(12, "old"), "twelve")
	says(t, s, "204", "PUT", "/zoo", stampOf(13, "next"), "thirteen")
}

// Exit codes are those of serve.
func TestRepairThatCannotBe(t *testing.T) {
	t.Parallel()
	s, p := marked(t)
	before := files(t, p.state)
	p.repairs(0)
	if !equalFiles(before, files(t, p.state)) {
		t.Error("a sound ledger was changed")
	}
	p.forgeFormat()
	saysOneLine(t, p.repairs(65, "--floor", "99"), "newer format", "format 2")
	p.remove(p.ledger())
	saysOneLine(t, p.repairs(66), "there is no ledger")
	p.remove(p.state)
	saysOneLine(t, p.repairs(66), "there is no ledger")
	s.Restart()
	for _, args := range [][]string{{"repair"}, {"repair", "--dry-run"}, {"floor", "5"}} {
		saysOneLine(t, ledger(t, 75, append(args, "--state", s.State)...), "in use by another process", "stop it first")
	}
}

// A backup of a ledger that had stopped in order is put back, long after. It
// looks as if nothing had happened since. Shown: with a floor no old holder
// writes, and the start holds for what may still land.
func TestFloorOfARestoredLedger(t *testing.T) {
	t.Parallel()
	p := startedOnce(t)
	backup := filepath.Join(t.TempDir(), "backup")
	p.copy(p.state, backup)
	r := p.serves("--settle", "20s")
	if a := r.put(report, 33); a.status != 201 {
		t.Fatalf("a write is answered %v", a)
	}
	r.Kill()
	p.copy(backup, p.state)
	saysOneLine(t, ledger(t, 64, "floor", "now", "--state", p.state), "tokens: any", "above every token ever given out")
	saysOneLine(t, ledger(t, 64, "floor", "-1", "--state", p.state), "")
	saysOneLine(t, ledger(t, 65, "floor", "34", "--ledger-id", strings.Repeat("0", 32), "--state", p.state), "another ledger")
	for _, c := range [][2]string{{"34", "the global floor is 34, was 0"}, {"33", "the global floor stays 34"}} {
		if said := ledger(t, 0, "floor", c[0], "--state", p.state).Stdout(); len(said) != 1 || !strings.HasPrefix(said[0], c[1]) {
			t.Errorf("floor %s says %q", c[0], said)
		}
	}
	held := p.serves("--settle", "20s")
	held.holdsToken(34, 10, 20)
	if a := held.put(report, 33); a.String() != "412 stale_token" {
		t.Errorf("a holder from before the backup is answered %v", a)
	}
}

// A copy of a ledger in use is no clean one, whenever it is made: what was in
// flight then may still land.
func TestCopyOfALedgerInUseIsHeld(t *testing.T) {
	t.Parallel()
	p := startedOnce(t)
	r := p.serves("--settle", "20s")
	copied := newPlace(t)
	copied.copy(p.state, copied.state)
	r.stops(0)
	copied.copy(p.data, copied.data)
	copied.serves().holdsFor(10, 20)
	p.serves().holdsNothing()
}
