package bolt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"fencegate/fence"
)

// forSizes runs a benchmark on ledgers of several sizes, each made once.
func forSizes(b *testing.B, f func(b *testing.B, dir string, marks int)) {
	for _, marks := range []int{1_000, 1_000_000} {
		dir := ""
		b.Run(fmt.Sprintf("marks=%d", marks), func(b *testing.B) {
			if dir == "" {
				dir = buildLedger(b, marks)
			}
			f(b, dir, marks)
		})
	}
}

func nth(i int, token fence.Token) fence.Row {
	return fence.Row{
		Key:   fence.Key{Path: fence.ResourceOf(fmt.Sprintf("/data/team-%03d/objects/%08d.bin", i%500, i))},
		Token: token, Owner: "0123456789abcdef0123456789abcdef", Client: "host-17/4711/nightly", Since: time.UnixMicro(1.7e15),
	}
}

func buildLedger(b *testing.B, marks int) string {
	dir := filepath.Join(b.TempDir(), "state")
	if _, err := Create(b.Context(), dir, soon); err != nil {
		b.Fatal(err)
	}
	l := openStarted(b, dir)
	const batch = 20_000
	for i := 0; i < marks; i += batch {
		var rows []fence.Row
		for j := i; j < min(i+batch, marks); j++ {
			rows = append(rows, nth(j, 1))
		}
		if err := l.Commit(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(true); err != nil {
		b.Fatal(err)
	}
	return dir
}

func openStarted(b *testing.B, dir string) *Ledger {
	l, err := Open(context.Background(), dir, soon)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := l.Start(context.Background(), 0); err != nil {
		b.Fatal(err)
	}
	return l
}

func BenchmarkOpen(b *testing.B) {
	forSizes(b, func(b *testing.B, dir string, marks int) {
		for b.Loop() {
			l, err := Open(b.Context(), dir, soon)
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Close(false); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	forSizes(b, func(b *testing.B, dir string, marks int) {
		for _, n := range []int{1, 64} {
			b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
				l := openStarted(b, dir)
				rows := make([]fence.Row, n)
				token := fence.Token(time.Now().UnixMicro()) // above all before
				for b.Loop() {
					token++
					for i := range rows {
						rows[i] = nth(rand.IntN(marks), token)
					}
					if err := l.Commit(b.Context(), rows); err != nil {
						b.Fatal(err)
					}
				}
				if err := l.Close(false); err != nil {
					b.Fatal(err)
				}
			})
		}
	})
}

func BenchmarkRead(b *testing.B) {
	forSizes(b, func(b *testing.B, dir string, marks int) {
		for _, n := range []int{1, 6} {
			b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
				l := openStarted(b, dir)
				keys, rows := make([]fence.Key, n), make([]fence.Row, n)
				b.ReportAllocs()
				for b.Loop() {
					for i := range keys {
						keys[i] = nth(rand.IntN(marks), 0).Key
					}
					if err := l.Read(keys, rows); err != nil {
						b.Fatal(err)
					}
				}
				if err := l.Close(false); err != nil {
					b.Fatal(err)
				}
			})
		}
	})
}

func BenchmarkBelow(b *testing.B) {
	forSizes(b, func(b *testing.B, dir string, marks int) {
		l := openStarted(b, dir)
		for b.Loop() {
			n := 0
			if err := l.Below(b.Context(), fence.Root, func(fence.Row) bool { n++; return true }); err != nil || n != marks {
				b.Fatal(n, err)
			}
		}
		if err := l.Close(false); err != nil {
			b.Fatal(err)
		}
	})
}
