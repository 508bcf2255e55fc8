package proxy

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/fence"
	"fencegate/proxy/protocol"
	"fencegate/store/memory"
)

// Up to 1 MiB stays in memory; more goes to a file that has no name, so that
// nothing stays behind however the process ends.
func TestWhereBodiesAreKept(t *testing.T) {
	for _, c := range []struct {
		size int
		file bool
	}{{0, false}, {1, false}, {memoryBody - 1, false}, {memoryBody, false}, {memoryBody + 1, true}, {5<<20 + 3, true}} {
		s, err := openSpool(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("0123456789abcdef", c.size/16+1)[:c.size]
		for _, declared := range []int64{int64(c.size), -1} {
			kept := new(spooled)
			if err := s.take(kept, strings.NewReader(text), declared); err != nil {
				t.Fatal(err)
			}
			if (kept.file != nil) != c.file || kept.size != int64(c.size) {
				t.Errorf("%d bytes: in a file is %v, size %d", c.size, kept.file != nil, kept.size)
			}
			if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
				t.Errorf("%d bytes: the spool has names: %v, %v", c.size, entries, err)
			}
			for range 2 { // from the start each time
				if got, err := io.ReadAll(kept.reader()); err != nil || string(got) != text {
					t.Errorf("%d bytes: %d come back, error %v", c.size, len(got), err)
				}
			}
			kept.drop()
		}
	}
}

// A declared length alone costs little memory.
func TestDeclaredLengthIsNotAllocated(t *testing.T) {
	s := &spool{dir: t.TempDir()}
	kept := new(spooled)
	if err := s.take(kept, strings.NewReader("v"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if n := cap(kept.memory); n > 2*smallBody {
		t.Errorf("%d bytes are allocated for a body of 1", n)
	}
}

// Many bodies at once go to files before they fill the memory, which is free
// again when they have gone.
func TestBodiesInMemoryAreBounded(t *testing.T) {
	s, err := openSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.memory.quota = 2 * memoryBody
	take := func(size int) *spooled {
		t.Helper()
		kept := new(spooled)
		err := s.take(kept, strings.NewReader(strings.Repeat("x", size)), int64(size))
		if err != nil || kept.size != int64(size) {
			t.Fatal(kept, err)
		}
		return kept
	}
	for range 2 {
		first, second := take(smallBody+1), take(memoryBody)
		third, large, small := take(smallBody+1), take(memoryBody+1), take(smallBody)
		if first.file != nil || second.file != nil || small.file != nil {
			t.Error("a body went to a file although there was memory for it")
		}
		if third.file == nil || large.file == nil {
			t.Error("more bodies are in memory than it is to hold")
		}
		for _, kept := range []*spooled{first, second, third, large, small} {
			kept.drop()
		}
		if n := s.memory.used.Load(); n != 0 {
			t.Fatalf("%d bytes stay reserved", n)
		}
	}
	if err := s.take(new(spooled), io.MultiReader(strings.NewReader(strings.Repeat("x", smallBody+1)), iotest.ErrReader(io.ErrUnexpectedEOF)), -1); err == nil || s.memory.used.Load() != 0 {
		t.Errorf("a body that broke off: %v, and %d bytes stay reserved", err, s.memory.used.Load())
	}
}

func TestSpoolIsSweptAtStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "spool")
	if _, err := openSpool(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{spoolPrefix + "123", spoolPrefix + "x", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openSpool(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "other" {
		t.Errorf("after a start the spool has %v, %v; want only what is not ours", entries, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the spool is open to others: %v, %v", info.Mode(), err)
	}
}

func TestSpoolThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gate, err := fence.Start(t.Context(), memory.New(fence.Meta{Clean: true}), fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(gate, protocol.Plain{}, newFakeStore(), Options{SpoolDir: file, Metrics: NewMetrics(prometheus.NewRegistry())})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("New with a file as spool: %v, want an error that names it", err)
	}
	if err := gate.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Bodies of all sizes reach the store whole, and once.
func TestBodiesArePassedWhole(t *testing.T) {
	for _, stages := range []bool{false, true} {
		var s *fakeStager
		var changes []func(*plan)
		if stages {
			changes = append(changes, staging(&s))
		}
		w := open(t, changes...)
		for _, size := range []int{0, 1, 4096, memoryBody, memoryBody + 1, 3 << 20} {
			text := strings.Repeat("0123456789abcdef", size/16+1)[:size]
			w.says("PUT /a\nX-Fencing-Token: 5\n\n"+text, stored)
			if got := w.store.requests()[0].body; got != text {
				t.Errorf("store stages %v: %d of %d bytes arrived", stages, len(got), size)
			}
			w.saw("PUT /a")
		}
	}
}

// A full or failing disk is told; nothing reaches the store.
func TestSpoolThatFails(t *testing.T) {
	w := open(t)
	if err := os.Remove(w.proxy.spool.dir); err != nil {
		t.Fatal(err)
	}
	w.says("PUT /a\nX-Fencing-Token: 5\n\n"+strings.Repeat("x", memoryBody+1000),
		want{status: 502, reason: reasonUnreachable, resource: "/a", token: "5", closes: true})
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", stored)
	w.saw("PUT /a")
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := spoolError(&os.PathError{Op: "write", Path: "body", Err: errno})
		if failed := (bodyError{}); !errors.As(err, &failed) || failed.Reason != reasonSpoolFull || failed.Err == nil {
			t.Errorf("%v means %v, want %s", errno, err, reasonSpoolFull)
		}
	}
}
