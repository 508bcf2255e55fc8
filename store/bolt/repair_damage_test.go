package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fencegate/fence"
)

// soak multiplies the rounds of random tests, as make soak wants them.
func soak(rounds int) int {
	switch {
	case os.Getenv("FENCEGATE_SOAK") != "":
		return rounds * 10
	case testing.Short():
		return max(rounds/5, 1)
	}
	return rounds
}

// repairPlace repairs one damaged file after another.
type repairPlace struct {
	t    *testing.T
	dir  string
	want []fence.Row
	// marker is what the suspect marker says, nil for none.
	marker []byte
	// outcomes counts what became of the files.
	outcomes map[string]int
}

// floorOfTest is above every token of a sample.
const floorOfTest = 1 << 40

// try repairs file, without a floor first. Shown: where a row has fallen or is
// gone, that is refused; with a floor it is told, and the floor makes up for it.
// No row of the new ledger is one that never was.
func (p *repairPlace) try(file []byte, what string, args ...any) {
	p.t.Helper()
	what = fmt.Sprintf(what, args...)
	path, marker := filepath.Join(p.dir, ledgerName), filepath.Join(p.dir, suspectName)
	old, err := filepath.Glob(path + ".old-*")
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	if err = errors.Join(err, os.WriteFile(path, file, 0o600)); err != nil {
		p.t.Fatal(err)
	}
	if p.marker != nil {
		if err := os.WriteFile(marker, p.marker, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	r, err := MakeSound(p.t.Context(), p.dir, soon, RepairOptions{})
	if err == nil {
		switch {
		case !r.Needed:
			p.outcomes["sound"]++
		case len(r.Lost) > 0 || r.LostMore > 0:
			p.t.Errorf("%s: repaired without a floor although there is lost %q", what, r.Lost)
		default:
			p.outcomes["repaired"]++
		}
		p.compare(r, 0, what)
		return
	}
	if !errors.Is(err, fence.ErrLedgerDamaged) {
		p.t.Fatalf("%s: %v", what, err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, file) {
		p.t.Fatalf("%s: the file changed although the repair was refused, %v", what, err)
	}
	if r, err = MakeSound(p.t.Context(), p.dir, soon, RepairOptions{Floor: Floor{Token: floorOfTest}}); err != nil {
		if r.Meta.ID != "" || !errors.Is(err, fence.ErrLedgerDamaged) {
			p.t.Fatalf("%s, with a floor: %v", what, err)
		}
		p.outcomes["nothing left"]++
		return
	}
	p.outcomes["with a floor"]++
	if len(r.Lost) == 0 || r.Meta.Global != floorOfTest {
		p.t.Errorf("%s: refused, but with a floor %+v", what, r)
	}
	p.compare(r, floorOfTest, what)
}

// compare opens what was repaired.
func (p *repairPlace) compare(r Repair, floor fence.Token, what string) {
	p.t.Helper()
	got := map[fence.Key]fence.Row{}
	meta, err := Inspect(p.t.Context(), p.dir, soon, func(row *fence.Row) error {
		got[row.Key] = *row
		return nil
	})
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	if r.Needed && (meta != r.Meta || meta.Clean) || meta.Global < floor {
		p.t.Errorf("%s: the record is %+v, told %+v", what, meta, r.Meta)
	}
	missing := 0
	for _, want := range p.want {
		now := got[want.Key]
		if want.Above(now) {
			missing++
		}
		if now.Token > want.Token {
			p.t.Errorf("%s: %s of %s rose from %s to %s", what, want.Kind, want.Path, want.Token, now.Token)
		}
		delete(got, want.Key)
	}
	if len(got) > 0 {
		p.t.Errorf("%s: %d rows that never were", what, len(got))
	}
	if missing > 0 && floor == 0 {
		p.t.Errorf("%s: %d rows fell, and nothing makes up for them", what, missing)
	}
	p.outcomes["rows lost"] += missing
}

// damagedRepairs makes places for a sample that is suspect, one for whose marker
// all is known, one without.
func damagedRepairs(t *testing.T, rows int) (file []byte, places []*repairPlace) {
	t.Helper()
	file, want := sample(t, rows)
	current, err := currentMeta(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := verify(t.Context(), bytes.NewReader(file), int64(len(file)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, suspect := range []bool{true, false} {
		dir := t.TempDir()
		p := &repairPlace{t: t, dir: dir, want: want, outcomes: map[string]int{}}
		if suspect {
			if err := markSuspect(dir, time.Now(), meta.ID, current.transaction, errors.New("input/output error")); err != nil {
				t.Fatal(err)
			}
			p.marker = []byte(listing(t, dir)[suspectName])
		}
		places = append(places, p)
	}
	return file, places
}

func TestRepairOfFlippedBits(t *testing.T) {
	file, places := damagedRepairs(t, 400)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 3))
	for range soak(80) {
		at, bit := r.IntN(len(file)), byte(1)<<r.IntN(8)
		damaged := bytes.Clone(file)
		damaged[at] ^= bit
		for _, p := range places {
			p.try(damaged, "seed %d: bit %#x at %d, suspect %t", seed, bit, at, p.marker != nil)
		}
	}
	for _, p := range places {
		t.Logf("seed %d, suspect %t: %v", seed, p.marker != nil, p.outcomes)
		if p.outcomes["with a floor"] == 0 || p.outcomes["sound"]+p.outcomes["repaired"] == 0 {
			t.Errorf("outcomes %v", p.outcomes)
		}
	}
}

// TestRepairOfEveryHeaderByte spoils a small file where its structure lies.
func TestRepairOfEveryHeaderByte(t *testing.T) {
	file, places := damagedRepairs(t, 40)
	r := rand.New(rand.NewPCG(1, 4))
	for at := range file {
		if inPage := at % 4096; inPage > 96 || r.IntN(8) > 0 && os.Getenv("FENCEGATE_SOAK") == "" || testing.Short() && r.IntN(4) > 0 {
			continue
		}
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << r.IntN(8)
		places[at%2].try(damaged, "byte %d", at)
	}
}

func TestRepairOfMangledFiles(t *testing.T) {
	file, places := damagedRepairs(t, 400)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 5))
	for range soak(40) {
		damaged, how := mangled(r, file, 5)
		for _, p := range places {
			p.try(damaged, "seed %d: %s, suspect %t", seed, how, p.marker != nil)
		}
	}
	for _, p := range places {
		t.Logf("seed %d, suspect %t: %v", seed, p.marker != nil, p.outcomes)
	}
}

// FuzzRepair: nothing panics or goes on for ever.
func FuzzRepair(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add(make([]byte, 1<<14), false)
	dir := filepath.Join(f.TempDir(), "state")
	if _, err := Create(f.Context(), dir, soon); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, ledgerName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, true)
	f.Fuzz(func(t *testing.T, file []byte, suspect bool) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ledgerName), file, 0o600); err != nil {
			t.Fatal(err)
		}
		if suspect {
			if err := os.WriteFile(filepath.Join(dir, suspectName), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := MakeSound(t.Context(), dir, soon, RepairOptions{Floor: Floor{Token: fence.MaxToken}})
		if err != nil {
			return
		}
		l, err := Open(t.Context(), dir, soon)
		if err != nil {
			t.Fatalf("after a repair, %+v: %v", r, err)
		}
		_ = l.Close(false)
	})
}
