package fence

import (
	"context"
	"strings"
	"testing"
)

// What a request costs the garbage collector, exactly. Time is for benchmarks:
// it depends on the machine, and this does not.

func budget(t *testing.T, name string, allocs float64, f func()) {
	t.Helper()
	if got := testing.AllocsPerRun(200, f); got != allocs {
		t.Errorf("%s: %v allocations, want %v", name, got, allocs)
	}
}

func TestAllocationsOfNames(t *testing.T) {
	long := "/" + strings.Repeat("a%20long%20name/", 100) + "end"
	for _, c := range []struct {
		name, path string
		opts       NameOptions
		allocs     float64
	}{
		{"plain", "/reports/2026/q3.csv", NameOptions{}, 0},
		{"final slash", "/reports/2026/", NameOptions{}, 0},
		{"plain, folded already", "/reports/2026/q3.csv", NameOptions{FoldCase: true}, 0},
		{"plain, to be folded", "/Reports/2026/Q3.csv", NameOptions{FoldCase: true}, 1},
		{"escaped", "/caf%C3%A9/a%20b", NameOptions{}, 1}, // the decoded text
		{"long and escaped", long, NameOptions{}, 1},
		{"longest", "/" + strings.Repeat("x", MaxPathLen-1), NameOptions{}, 0},
	} {
		budget(t, c.name, c.allocs, func() {
			if _, err := Canonical(c.path, c.opts); err != nil {
				t.Fatal(err)
			}
		})
	}
	tooLong := long + long + long
	budget(t, "too long", 0, func() {
		if _, err := Canonical(tooLong, NameOptions{}); err != ErrPathTooLong {
			t.Fatal(err)
		}
	})
}

func TestAllocationsOfTokens(t *testing.T) {
	for _, s := range []string{"1", "34", "1767225600000000", MaxToken.String()} {
		budget(t, s, 0, func() {
			if n, err := ParseToken(s, MaxToken); err != nil || n == NoToken {
				t.Fatal(n, err)
			}
		})
	}
	for _, s := range []string{"", "0", "034", "+34", "34 ", strings.Repeat("3", 100) + "x"} {
		budget(t, "no token", 0, func() {
			if _, err := ParseToken(s, MaxToken); err != ErrTokenSyntax {
				t.Fatal(err)
			}
		})
	}
	budget(t, "out of range", 1, func() { // the error
		if _, err := ParseToken("9223372036854775808", MaxToken); err == nil {
			t.Fatal("accepted")
		}
	})
	budget(t, "owner", 0, func() {
		if _, err := ParseOwner("0123456789abcdef0123456789abcdef"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAllocationsOfJudging(t *testing.T) {
	s := deepSight()
	for token, want := range map[Token]Reason{33: StaleToken, 34: Passed, 35: Passed, NoToken: TokenMissing} {
		touch := put("/a/b/c/d.csv", token, "owner")
		budget(t, "judge", 0, func() {
			if v := judge(&touch, &s); v.Reason != want {
				t.Fatal(v.Reason)
			}
		})
		budget(t, "covered", 0, func() { covered(&touch, &s) })
	}
	other := put("/a/b/c/d.csv", 34, "other")
	budget(t, "another owner", 0, func() {
		if v := judge(&other, &s); v.Reason != OwnerConflict {
			t.Fatal(v.Reason)
		}
	})
}

// deepSight is what a touch four levels down sees.
func deepSight() sight {
	mark := &Row{Key: Key{Mark, Resource{"/a/b/c/d.csv"}}, Token: 34, Owner: "owner", Client: "host-17/4711"}
	above := []*Row{mark}
	for _, path := range []string{"/a/b/c/d.csv", "/a/b/c", "/a/b", "/a", "/"} {
		above = append(above, &Row{Key: Key{Floor, Resource{path}}})
	}
	above[3].Token = 20
	return sight{above: above, global: 7}
}

// TestAllocationsOfTheGate counts what passing the gate costs a request whose
// rows are in memory and say already what it says: nothing, unless it has more
// than one touch.
func TestAllocationsOfTheGate(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		allocs float64
		change func(*Request)
	}{
		{"a write", 0, func(*Request) {}},
		{"a stream", 0, func(r *Request) { r.Stream = true }},
		{"a claim", 0, func(r *Request) { r.Ask = true }},
		{"without owner", 0, func(r *Request) { r.Touches[0].Owner = NoOwner }},
		{"observed", 0, func(r *Request) { r.Touches[0].Policy = Observe }},
		{"open", 0, func(r *Request) { r.Touches[0].Policy = Open }},
		{"passive", 0, func(r *Request) { r.Touches[0].Passive = true }},
		{"two touches", 2, func(r *Request) { // judgeSiblings' row
			r.Touches = append(r.Touches, put("/reports/2026/q4.csv", 34, "owner"))
		}},
		{"a fence above the object", 0, func(r *Request) {
			r.Touches[0].Fence, r.Touches[0].FenceTree = Resource{"/reports"}, true
		}},
		{"a deep path", 0, func(r *Request) {
			r.Touches[0].Fence = Resource{strings.Repeat("/deeper", 40)}
			r.Touches[0].Object = r.Touches[0].Fence
		}},
	} {
		g, err := Start(t.Context(), newFakeLedger(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Touches: []Touch{put("/reports/2026/q3.csv", 34, "owner")}}
		c.change(&r)
		budget(t, c.name, c.allocs, func() {
			p, v := g.Arrive(ctx, r)
			if !v.OK() {
				t.Fatal(v.Reason)
			}
			defer p.Withdraw()
			if v := p.Begin(ctx); !v.OK() {
				t.Fatal(v.Reason)
			}
			p.OnOvertaken(nothing)
			if v := p.Observed(); !v.OK() {
				t.Fatal(v.Reason)
			}
			p.Done(Definite)
		})
		if err := g.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func nothing() {}

// TestAllocationsOfRaises counts what the first write of a new holder costs, with
// its wait for the ledger: the goroutine that commits, and a copy of who raised
// the row.
func TestAllocationsOfRaises(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		allocs float64
		stamp  Stamp
	}{
		{"a token alone", 2, Stamp{}},
		{"with owner and client", 3, Stamp{Owner: "owner", Client: "host-17/4711"}},
	} {
		g, err := Start(t.Context(), newFakeLedger(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Touches: []Touch{put("/reports/2026/q3.csv", 34, NoOwner)}}
		budget(t, c.name, c.allocs, func() {
			next := r.Touches[0].Token + 1
			r.Touches[0].Stamp = c.stamp
			r.Touches[0].Token = next
			p, v := g.Arrive(ctx, r)
			if !v.OK() {
				t.Fatal(v.Reason)
			}
			if v := p.Begin(ctx); !v.OK() {
				t.Fatal(v.Reason)
			}
			p.Done(Definite)
		})
		if err := g.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestAllocationsOfRefusals counts what a late writer can make the gate
// allocate, however often it tries.
func TestAllocationsOfRefusals(t *testing.T) {
	ctx := context.Background()
	l := newFakeLedger()
	l.put(Mark, "/reports/2026/q3.csv", 34, "owner")
	g, err := Start(t.Context(), l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for want, touch := range map[Reason]Touch{
		StaleToken:    put("/reports/2026/q3.csv", 33, "late"),
		OwnerConflict: put("/reports/2026/q3.csv", 34, "other"),
		TokenMissing:  put("/reports/2026/q3.csv", NoToken, NoOwner),
	} {
		r := Request{Touches: []Touch{touch}}
		budget(t, string(want), 0, func() {
			if p, v := g.Arrive(ctx, r); p != nil || v.Reason != want {
				t.Fatal(v.Reason)
			}
		})
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFoldingASCII: the short way makes of a name what the long way makes of it.
func TestFoldingASCII(t *testing.T) {
	var all []byte
	for c := range byte(0x80) {
		all = append(all, c)
		if s := string(rune(c)); foldCase(s) != foldAny(s) {
			t.Errorf("%q folds to %q, the long way to %q", s, foldCase(s), foldAny(s))
		}
	}
	if s := string(all); foldCase(s) != foldAny(s) {
		t.Errorf("%q the short way, %q the long way", foldCase(s), foldAny(s))
	}
}
