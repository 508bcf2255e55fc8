package integration

import (
	"bytes"
	"path/filepath"
	"testing"

	"fencegate/integration/harness"
)

// What serve would not start on is not shown either, with the same exit code.
func TestLedgerThatIsNotSound(t *testing.T) {
	t.Parallel()
	_, used := marked(t)
	for _, c := range []struct {
		name    string
		prepare func(*place)
		code    int
		says    []string
	}{
		{"lost", func(p *place) { p.remove(p.ledger()) }, 66, []string{"ledger.db", "there is no ledger"}},
		{"never there", func(p *place) { p.remove(p.state) }, 66, []string{"ledger.db", "there is no ledger"}},
		{"empty", func(p *place) { p.rewrite(func([]byte) []byte { return nil }) }, 65, []string{"damaged", "empty"}},
		{"truncated", func(p *place) { p.rewrite(func(b []byte) []byte { return b[:len(b)/2] }) }, 65, []string{"damaged", "truncated"}},
		{"garbage", func(p *place) { p.rewrite(func(b []byte) []byte { return bytes.Repeat([]byte{'x'}, len(b)) }) }, 65, []string{"damaged"}},
		{"a flipped bit", func(p *place) { p.rewrite(flipMark) }, 65, []string{"damaged", "checksum"}},
		{"suspect", func(p *place) { p.write(filepath.Join(p.state, "ledger.suspect"), "") }, 65, []string{"ledger.suspect", "fencegate ledger repair --state"}},
		{"of a later format", (*place).forgeFormat, 65, []string{"newer format"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.copy(used.state, p.state)
			c.prepare(p)
			for _, args := range [][]string{{"check"}, {"list"}, {"list", "--json"}, {"get", report}} {
				process := ledger(t, c.code, append(args, "--state", p.state)...)
				saysOneLine(t, process, c.says...)
				if said := process.Stdout(); len(said) > 0 {
					t.Errorf("%s shows %q", args, said)
				}
			}
		})
	}
}

// A fencegate that runs is asked itself.
func TestLedgerInUse(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	for _, args := range [][]string{{"check"}, {"list"}, {"get", report}} {
		saysOneLine(t, ledger(t, 75, append(args, "--state", s.State)...), "in use by another process", "/.well-known/fencegate/marks?resource=")
	}
	s.Kill()
	ledger(t, 0, "check", "--state", s.State)
}
