package fence

import (
	"context"
	"fmt"
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
		b.Run(fmt.Sprint(len(path)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Canonical(path, NameOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
