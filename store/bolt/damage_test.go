package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
	"fencegate/store/storetest"
)

// sample makes a ledger whose file has every kind of page: trees of some depth,
// overflow pages, free pages. It returns the file, cut behind its last page,
// and the rows.
func sample(t *testing.T, rows int) ([]byte, []fence.Row) {
	t.Helper()
	l, dir := newLedger(t)
	var batch []fence.Row
	for i := range rows {
		r := row(fmt.Sprintf("/%d/some/path/%d", i%17, i), fence.Token(1000+i), fence.Owner(fmt.Sprint("owner-", i)))
		r.Kind, r.Client, r.Since = fence.Kind(i%2), "host/12/job", time.UnixMicro(1.7e15+int64(i))
		batch = append(batch, r)
		if i%100 == 99 {
			if err := l.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
	batch = append(batch, row("/long/"+strings.Repeat("x", 9000), 7, ""))
	if err := l.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	all, err := storetest.All(t, l, "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, ledgerName))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := currentMeta(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return file[:int(meta.pages)*int(meta.pageSize)], all
}

// damagedPlace opens one damaged file after another.
type damagedPlace struct {
	t    *testing.T
	dir  string
	want []fence.Row
	// sound counts the files that opened.
	sound int
}

func newDamagedPlace(t *testing.T, want []fence.Row) *damagedPlace {
	t.Helper()
	_, dir := newLedgerFile(t)
	return &damagedPlace{t: t, dir: dir, want: want}
}

// try fails unless file is reported as damaged, or has exactly the rows.
func (p *damagedPlace) try(file []byte, what string, args ...any) {
	p.t.Helper()
	what = fmt.Sprintf(what, args...)
	if err := os.WriteFile(filepath.Join(p.dir, ledgerName), file, 0o600); err != nil {
		p.t.Fatal(err)
	}
	l, err := Open(p.t.Context(), p.dir, soon)
	if err != nil {
		if !errors.Is(err, fence.ErrLedgerDamaged) {
			p.t.Errorf("%s: %v", what, err)
		}
		return
	}
	p.sound++
	defer l.Close(false)
	got, err := storetest.All(p.t, l, "/")
	if diff := storetest.Diff(p.want, got); err != nil || diff != "" {
		p.t.Errorf("%s: opened with other rows, error %v (-want +got):\n%.2000s", what, err, diff)
	}
	// What passes must satisfy bbolt, too, and take a commit.
	err = l.Commit(p.t.Context(), []fence.Row{row("/1/some/path/1", 1, ""), row("/5/new", 1, "")})
	if err != nil {
		p.t.Errorf("%s: Commit: %v", what, err)
	}
	_ = l.view(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			p.t.Errorf("%s: bbolt's check: %v", what, err)
		}
		return nil
	})
}

func TestOpenEmptyFile(t *testing.T) {
	p := newDamagedPlace(t, nil)
	for _, file := range [][]byte{{}, {0}, make([]byte, 4096), make([]byte, 1<<20), []byte(strings.Repeat("text\n", 5000))} {
		p.try(file, "%d bytes", len(file))
		if info, err := os.Stat(filepath.Join(p.dir, ledgerName)); err != nil || info.Size() != int64(len(file)) {
			t.Errorf("the file has %d bytes now, had %d", info.Size(), len(file))
		}
	}
	if p.sound != 0 {
		t.Errorf("%d of them opened", p.sound)
	}
}

func TestOpenTruncated(t *testing.T) {
	file, rows := sample(t, 400)
	p := newDamagedPlace(t, rows)
	step := 1511
	if testing.Short() {
		step = 9001
	}
	for n := 0; n < len(file); n += step {
		p.try(file[:n], "cut at %d", n)
	}
	for n := 0; n < len(file); n += 4096 {
		p.try(file[:n], "cut at %d", n)
	}
	if p.sound != 0 {
		t.Errorf("%d truncated files opened", p.sound)
	}
	p.try(append(bytes.Clone(file), make([]byte, 10000)...), "longer")
	if p.sound != 1 {
		t.Error("a file with unused space at its end did not open")
	}
}

func TestOpenFlipped(t *testing.T) {
	file, rows := sample(t, 400)
	p := newDamagedPlace(t, rows)
	flips := 600
	if testing.Short() {
		flips = 200
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d bytes", seed, len(file))
	r := rand.New(rand.NewPCG(seed, 1))
	for range flips {
		at, bit := r.IntN(len(file)), byte(1)<<r.IntN(8)
		damaged := bytes.Clone(file)
		damaged[at] ^= bit
		p.try(damaged, "seed %d: bit %#x at %d", seed, bit, at)
	}
	// About two thirds of the file are free pages and gaps.
	if p.sound == 0 || p.sound > flips*9/10 {
		t.Errorf("%d of %d files opened", p.sound, flips)
	}
}

// TestVerifyEveryByte spoils a small file at every byte of its head, its page
// headers and a sample of the rest.
func TestVerifyEveryByte(t *testing.T) {
	file, rows := sample(t, 40)
	r := rand.New(rand.NewPCG(1, 2))
	for at := range file {
		if inPage := at % 4096; inPage > 200 && r.IntN(16) > 0 || testing.Short() && r.IntN(8) > 0 {
			continue
		}
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << r.IntN(8)
		if got, err := verified(damaged); err == nil && storetest.Diff(rows, got) != "" {
			t.Errorf("byte %d: other rows", at)
		}
	}
}

func verified(file []byte) ([]fence.Row, error) {
	var rows []fence.Row
	_, err := verify(context.Background(), bytes.NewReader(file), int64(len(file)), func(r *fence.Row) {
		if r.Path != fence.Root {
			rows = append(rows, *r)
		}
	})
	return rows, err
}

// TestOpenMangled: larger damage, of the kinds that disks and people do.
func TestOpenMangled(t *testing.T) {
	file, rows := sample(t, 400)
	p := newDamagedPlace(t, rows)
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range rounds {
		damaged, how := mangled(r, file, 4)
		p.try(damaged, "seed %d: %s", seed, how)
	}
}

// mangled returns a copy of a file with damage of one of so many kinds, and says
// which: a disk that loses, garbles or misplaces; the fifth kind is a cut file.
func mangled(r *rand.Rand, file []byte, kinds int) (damaged []byte, how string) {
	const page = 4096
	damaged = bytes.Clone(file)
	at, n := r.IntN(len(file)), 1+r.IntN(3*page)
	hole := damaged[at:min(at+n, len(damaged))]
	pages := len(file) / page
	from, to := r.IntN(pages), r.IntN(pages)
	what := ""
	switch r.IntN(kinds) {
	case 0:
		what = "zeros"
		clear(hole)
	case 1:
		what = "noise"
		for i := range hole {
			hole[i] = byte(r.Uint32())
		}
	case 2:
		what = "page elsewhere"
		copy(damaged[to*page:(to+1)*page], file[from*page:])
	case 3:
		what = "page header elsewhere, page id kept"
		copy(damaged[to*page+8:to*page+16+r.IntN(100)], file[from*page+8:])
	case 4:
		what = "cut"
		damaged = damaged[:at]
	}
	return damaged, fmt.Sprintf("%s, %d bytes at %d, page %d to %d", what, n, at, from, to)
}

func TestVerifyStopsWithContext(t *testing.T) {
	file, _ := sample(t, 40)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &walker{ctx: ctx, file: bytes.NewReader(file), pageSize: 4096, pages: uint64(len(file) / 4096), used: make([]uint64, 10), read: 1023}
	if _, err := w.page(2, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on after the context's end: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 1<<14))
	dir := filepath.Join(f.TempDir(), "state")
	if _, err := Create(f.Context(), dir, soon); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, ledgerName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := verified(file); err == nil && len(file) < 4*1024 {
			t.Error("there are no ledgers that small")
		}
	})
}
