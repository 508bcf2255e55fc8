package fence

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// TestLatePermit: whatever is called on a permit that is done does nothing to
// the request that has its passage now.
func TestLatePermit(t *testing.T) {
	for _, ask := range []bool{false, true} {
		t.Run(fmt.Sprintf("ask=%v", ask), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { latePermit(t, ask) })
		})
	}
}

func latePermit(t *testing.T, ask bool) {
	ctx := t.Context()
	g, err := Start(ctx, newFakeLedger(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	arrive := func(r Request) *Permit {
		p, v := g.Arrive(ctx, r)
		if !v.OK() {
			t.Fatal(v.Reason)
		}
		return p
	}
	late := arrive(Request{Touches: []Touch{put("/a", 34, "owner")}, Ask: ask})
	used := late.passage
	if v := late.Begin(ctx); !v.OK() {
		t.Fatal(v.Reason)
	}
	late.Done(Definite)

	call := map[string]func(){
		"Withdraw":    late.Withdraw,
		"Done":        func() { late.Done(Uncertain) },
		"OnOvertaken": func() { late.OnOvertaken(func() { t.Error("told to stop when it is done") }) },
		"Observed": func() {
			if v := late.Observed(); !v.OK() {
				t.Errorf("observed %q", v.Reason)
			}
		},
		"Begin": func() {
			if v := late.Begin(ctx); !v.OK() {
				t.Errorf("begins again: %q", v.Reason)
			}
		},
	}
	for name, f := range call {
		p := arrive(Request{Touches: []Touch{put("/a", 34, "owner")}, Stream: true})
		if p.passage != used {
			t.Fatal("the passage was not used again, so this test shows nothing")
		}
		f()
		if p.phase != staging {
			t.Fatalf("%s of one that is done moved another permit to phase %d", name, p.phase)
		}
		if v := p.Begin(ctx); !v.OK() {
			t.Fatalf("after %s: %q", name, v.Reason)
		}
		f()
		if p.phase != begun || g.State().Begun != 1 {
			t.Fatalf("%s of one that is done moved another permit to phase %d: %+v", name, p.phase, g.State())
		}
		p.Done(Definite)
		p.Done(Definite)
	}

	cut := arrive(Request{Touches: []Touch{put("/a", 34, "owner")}, Stream: true})
	told := make(chan struct{})
	cut.OnOvertaken(func() { close(told) })
	if v := cut.Begin(ctx); !v.OK() {
		t.Fatal(v.Reason)
	}
	next := arrive(Request{Touches: []Touch{put("/a", 35, "next")}})
	<-told // that one alone
	cut.Done(Definite)
	if v := next.Begin(ctx); !v.OK() {
		t.Fatal(v.Reason)
	}
	next.Done(Definite)
	if cut.passage == next.passage || !isOvertaken(cut) {
		t.Error("a permit that was cut off does not know it any more")
	}
	if s := &g.spent; s.phase != over || s.onOvertaken != nil || s.waiters != nil || s.next != nil {
		t.Errorf("a permit that is done has changed what all such share: %+v", s)
	}
	if err := g.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestPermitsOfManyCallers has every permit ended twice from two goroutines
// while others arrive: no end may be taken for another's.
func TestPermitsOfManyCallers(t *testing.T) {
	g, err := Start(t.Context(), newFakeLedger(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			path := fmt.Sprintf("/%d", i) // nobody else's, so that only a wrong end can disturb
			for range 300 {
				p, v := g.Arrive(ctx, Request{Touches: []Touch{put(path, 34, "owner")}})
				if !v.OK() {
					t.Errorf("arrive: %q", v.Reason)
					return
				}
				if v := p.Begin(ctx); !v.OK() {
					t.Errorf("begin: %q", v.Reason)
					return
				}
				g.mu.Lock()
				if p.phase != begun || p.touches[0].Fence.key != path {
					t.Errorf("%s: phase %d of %s", path, p.phase, p.touches[0].Fence)
				}
				g.mu.Unlock()
				all.Go(p.Withdraw)
				all.Go(func() { p.OnOvertaken(func() { t.Error("overtaken by nobody") }) })
				p.Done(Definite)
				p.Observed()
			}
		})
	}
	all.Wait()
	if s := g.State(); s.Begun != 0 || s.Waiting != 0 {
		t.Errorf("left over: %+v", s)
	}
	if err := g.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestSpareIsBounded: what a rush took is given back.
func TestSpareIsBounded(t *testing.T) {
	var s spare
	for range 3 * maxSpare {
		s.put(new(passage))
	}
	n := 0
	for p := s.first; p != nil; p = p.next {
		n++
	}
	if n != maxSpare || s.n != n {
		t.Errorf("keeps %d, counts %d, want %d", n, s.n, maxSpare)
	}
	s.put(&passage{touches: make([]held, maxSpareTouches+1)})
	one := &Request{Touches: make([]Touch, maxSpareTouches)}
	for range n {
		if p := s.take(one); cap(p.touches) > maxSpareTouches {
			t.Fatal("keeps a large one")
		}
	}
	if s.n != 0 || s.first != nil {
		t.Errorf("%d left", s.n)
	}
	p := s.take(one)
	p.touches[0].below.highest.Token, p.verdict.Reason, p.enforced, p.onOvertaken = 35, Busy, true, func() {}
	s.put(p)
	if p = s.take(&Request{Touches: []Touch{{}}}); p.verdict.Reason != Passed || p.enforced || p.onOvertaken != nil || p.touches[0].below.highest.Token != NoToken {
		t.Errorf("comes back with %+v", p)
	}
}
