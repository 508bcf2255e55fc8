package fence

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// BenchmarkHolderWrites is the way of a write whose token is known: the common
// case, which costs no commit.
func BenchmarkHolderWrites(b *testing.B) {
	g, err := Start(b.Context(), newFakeLedger(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	touches := []Touch{put("/reports/2026/q3.csv", 34, "owner")}
	b.ReportAllocs()
	for b.Loop() {
		p, v := g.Arrive(context.Background(), Request{Touches: touches})
		if !v.OK() {
			b.Fatal(v.Reason)
		}
		if v := p.Begin(context.Background()); !v.OK() {
			b.Fatal(v.Reason)
		}
		p.Done(Definite)
	}
}

// BenchmarkRaises is the way of a new holder's first write, with a ledger that
// takes no time: what the gate adds to a commit.
func BenchmarkRaises(b *testing.B) {
	g, err := Start(b.Context(), newFakeLedger(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	touches := []Touch{put("/reports/2026/q3.csv", 34, "owner")}
	b.ReportAllocs()
	for b.Loop() {
		touches[0].Token++
		pass(b, g, Request{Touches: touches})
	}
}

// BenchmarkRefused is a stale write.
func BenchmarkRefused(b *testing.B) {
	l := newFakeLedger()
	l.put(Mark, "/reports/2026/q3.csv", 34, "owner")
	g, err := Start(b.Context(), l, Options{})
	if err != nil {
		b.Fatal(err)
	}
	touches := []Touch{put("/reports/2026/q3.csv", 33, "late")}
	b.ReportAllocs()
	for b.Loop() {
		if _, v := g.Arrive(context.Background(), Request{Touches: touches}); v.Reason != StaleToken {
			b.Fatal(v.Reason)
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, path := range []string{"/reports/2026/q3.csv", "/caf%C3%A9/a%20b"} {
		for _, fold := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/fold=%v", len(path), fold), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Canonical(path, NameOptions{FoldCase: fold}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkParseToken(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseToken("1767225600000000", MaxToken); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseOwner(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseOwner("0123456789abcdef0123456789abcdef"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	s, t := deepSight(), put("/a/b/c/d.csv", 34, "owner")
	b.ReportAllocs()
	for b.Loop() {
		if v := judge(&t, &s); !v.OK() {
			b.Fatal(v.Reason)
		}
	}
}

// BenchmarkCrowd is BenchmarkHolderWrites for 64 requests at once: on a resource
// each, where they share the gate's lock alone, and on one, where each write
// waits for the one before.
func BenchmarkCrowd(b *testing.B) {
	for name, paths := range map[string]int{"different": 64, "equal": 1} {
		b.Run(name, func(b *testing.B) {
			g, err := Start(b.Context(), newFakeLedger(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			const crowd = 64
			var all sync.WaitGroup
			for i := range crowd {
				r := Request{Touches: []Touch{put(fmt.Sprintf("/reports/%d.csv", i%paths), 34, "owner")}}
				all.Go(func() {
					for range (b.N + i) / crowd {
						pass(b, g, r)
					}
				})
			}
			all.Wait()
		})
	}
}

func pass(b *testing.B, g *Gate, r Request) {
	p, v := g.Arrive(context.Background(), r)
	if v.OK() {
		v = p.Begin(context.Background())
	}
	if !v.OK() {
		b.Error(v.Reason)
		return
	}
	p.Done(Definite)
}
