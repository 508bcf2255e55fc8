package fence

import (
	"testing"
)

func TestObserveNeverRefusesOrWaits(t *testing.T) {
	observe := func(t *Touch) { t.Policy = Observe }
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		new := arrive(t, g, with(put("/r", 34, "b"), observe))
		old := arrive(t, g, with(put("/r", 33, "a"), observe))
		if v := old.Observed(); v.Reason != StaleToken {
			t.Errorf("observed %q", v.Reason)
		}
		none := arrive(t, g, with(put("/r", 0, ""), observe))
		if v := none.Observed(); v.Reason != TokenMissing {
			t.Errorf("observed %q", v.Reason)
		}
		for _, p := range []*Permit{new, old, none} {
			begin(t, p)
		}
		if s := g.State(); s.Begun != 3 {
			t.Errorf("%d have begun, want all 3 side by side", s.Begun)
		}
		// Others wait for them.
		w := beginning(t, arrive(t, g, put("/r", 35, "c")))
		for _, p := range []*Permit{new, old, none} {
			w.still(t)
			p.Done(Definite)
		}
		if v := w.verdict(t); !v.OK() {
			t.Fatal(v.Reason)
		}
		if got := l.row(Key{Mark, path("/r")}); got.Token != 35 {
			t.Errorf("durable is %+v", got)
		}
	})
}

func TestObserveLifts(t *testing.T) {
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		arrive(t, g, with(put("/r", 34, "b"), func(t *Touch) { t.Policy = Observe })).Done(Definite)
		refuse(t, g, StaleToken, put("/r", 33, "a"))
	})
}

func TestOpenIsNeitherJudgedNorLifted(t *testing.T) {
	open := func(t *Touch) { t.Policy = Open }
	l := newFakeLedger()
	conversation(t, l, Options{}, func(t *testing.T, g *Gate) {
		arrive(t, g, with(put("/r", 34, "b"), open)).Done(Definite)
		begin(t, arrive(t, g, put("/r", 1, "a")))
		arrive(t, g, with(put("/r", 0, ""), open)).Done(Definite)
	})
}
