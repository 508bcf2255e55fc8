package fence

import (
	"slices"
	"testing"
	"time"
)

func path(p string) Resource { return ResourceOf(p) }

// mark and floor make rows for tables.
func mark(p string, token Token, owner Owner) Row {
	return Row{Key: Key{Mark, path(p)}, Token: token, Owner: owner}
}

func floor(p string, token Token, owner Owner) Row {
	return Row{Key: Key{Floor, path(p)}, Token: token, Owner: owner}
}

// put and tree are touches of a PUT and a DELETE.
func put(p string, token Token, owner Owner) Touch {
	return Touch{Fence: path(p), Object: path(p), Policy: Require, Stamp: Stamp{Token: token, Owner: owner}}
}

func tree(p string, token Token, owner Owner) Touch {
	t := put(p, token, owner)
	t.Tree = true
	return t
}

func with(t Touch, f func(*Touch)) Touch {
	f(&t)
	return t
}

// look builds what t sees of rows.
func look(t *Touch, global Token, rows []Row) sight {
	s := sight{global: global}
	for i := range rows {
		switch above, below := sees(t, rows[i].Key); {
		case above:
			s.above = append(s.above, &rows[i])
		case below:
			s.below.add(t, rows[i])
		}
	}
	return s
}

func TestJudge(t *testing.T) {
	adopt := func(t *Touch) { t.Policy = Adopt }
	passive := func(t *Touch) { t.Passive = true }
	fenceTree := func(t *Touch) { t.Fence, t.FenceTree = path("/t"), true }
	for _, c := range []struct {
		name   string
		touch  Touch
		global Token
		rows   []Row
		want   Reason
	}{
		{"nothing known", put("/r", 1, "a"), 0, nil, Passed},
		{"newer", put("/r", 5, "b"), 0, []Row{mark("/r", 4, "a")}, Passed},
		{"equal", put("/r", 4, "a"), 0, []Row{mark("/r", 4, "a")}, Passed},
		{"older", put("/r", 3, "a"), 0, []Row{mark("/r", 4, "a")}, StaleToken},
		{"equal, other owner", put("/r", 4, "b"), 0, []Row{mark("/r", 4, "a")}, OwnerConflict},
		{"equal, no owner sent", put("/r", 4, ""), 0, []Row{mark("/r", 4, "a")}, Passed},
		{"equal, no owner known", put("/r", 4, "b"), 0, []Row{mark("/r", 4, "")}, Passed},
		{"older than the parent's floor", put("/d/r", 3, "a"), 0, []Row{floor("/d", 4, "a")}, StaleToken},
		{"older than the root's floor", put("/d/r", 3, "a"), 0, []Row{floor("/", 4, "a")}, StaleToken},
		{"the parent's mark is no floor", put("/d/r", 3, "a"), 0, []Row{mark("/d", 4, "a")}, Passed},
		{"a neighbour with the same beginning", put("/dx", 3, "a"), 0, []Row{floor("/d", 4, "a")}, Passed},
		{"equal to a floor of another owner", put("/d/r", 4, "b"), 0, []Row{floor("/d", 4, "a")}, OwnerConflict},
		{"a PUT does not look below", put("/d", 3, "a"), 0, []Row{mark("/d/r", 4, "a"), floor("/d/r", 4, "a")}, Passed},

		{"tree over an older mark", tree("/d", 5, "a"), 0, []Row{mark("/d/r", 4, "b")}, Passed},
		{"tree over a newer mark", tree("/d", 3, "a"), 0, []Row{mark("/d/r", 4, "b")}, TreeFenced},
		{"tree over a newer floor", tree("/d", 3, "a"), 0, []Row{floor("/d/r/s", 4, "b")}, TreeFenced},
		{"tree over an equal mark of another", tree("/d", 4, "a"), 0, []Row{mark("/d/r", 4, "b")}, OwnerConflict},
		{"tree: its own mark comes first", tree("/d", 3, "a"), 0, []Row{mark("/d", 4, "a"), mark("/d/r", 9, "b")}, StaleToken},
		{"tree beside a newer mark", tree("/d", 3, "a"), 0, []Row{mark("/dx", 4, "b"), mark("/e/d", 4, "b")}, Passed},
		{"tree of the root", tree("/", 3, "a"), 0, []Row{mark("/x", 4, "b")}, TreeFenced},

		{"below the global floor", put("/r", 3, "a"), 4, nil, StaleToken},
		{"at the global floor", put("/r", 4, "a"), 4, nil, Passed},

		{"tokenless", put("/r", 0, ""), 0, nil, TokenMissing},
		{"adopt: tokenless, nothing known", with(put("/r", 0, ""), adopt), 0, nil, Passed},
		{"adopt: tokenless, mark", with(put("/r", 0, ""), adopt), 0, []Row{mark("/r", 1, "a")}, TokenMissing},
		{"adopt: tokenless, floor above", with(put("/d/r", 0, ""), adopt), 0, []Row{floor("/d", 1, "a")}, TokenMissing},
		{"adopt: tokenless tree, mark below", with(tree("/d", 0, ""), adopt), 0, []Row{mark("/d/r", 1, "a")}, TokenMissing},
		{"adopt: tokenless, global floor", with(put("/r", 0, ""), adopt), 1, nil, TokenMissing},
		{"adopt: older", with(put("/r", 3, "a"), adopt), 0, []Row{mark("/r", 4, "a")}, StaleToken},

		{"passive needs no token", with(put("/d", 0, ""), passive), 0, []Row{mark("/d", 9, "a"), floor("/", 9, "a")}, Passed},
		{"passive: marks do not count", with(put("/d", 3, "b"), passive), 0, []Row{mark("/d", 4, "a")}, Passed},
		{"passive: floors do", with(put("/d", 3, "b"), passive), 0, []Row{floor("/", 4, "a")}, StaleToken},
		{"passive in a fence: tree needs one", with(with(put("/t/d", 0, ""), passive), fenceTree), 0, nil, TokenMissing},

		{"fence: tree, another object", with(put("/t/2", 3, "a"), fenceTree), 0, []Row{floor("/t", 4, "b")}, StaleToken},
		{"open is not judged", with(put("/r", 3, "a"), func(t *Touch) { t.Policy = Open }), 9, []Row{mark("/r", 4, "b")}, Passed},
	} {
		s := look(&c.touch, c.global, c.rows)
		if got := judge(&c.touch, &s); got.Reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Reason, c.want)
		}
		slices.Reverse(s.above) // the order of rows must not matter
		if got := judge(&c.touch, &s); got.Reason != c.want {
			t.Errorf("%s, rows reversed: %q, want %q", c.name, got.Reason, c.want)
		}
	}
}

func TestJudgeNamesTheRow(t *testing.T) {
	touch := put("/d/r", 3, "a")
	s := look(&touch, 0, []Row{mark("/d/r", 4, "b"), floor("/d", 7, "c"), floor("/", 5, "d")})
	if v := judge(&touch, &s); v.Row.Token != 7 || v.Row.Path != path("/d") {
		t.Errorf("stale because of %+v, want the highest row, 7 at /d", v.Row)
	}
	s = look(&touch, 9, []Row{mark("/d/r", 4, "b")})
	if v := judge(&touch, &s); !v.Global || v.Row.Token != 9 {
		t.Errorf("stale because of %+v, want the global floor 9", v)
	}
}

func TestCovered(t *testing.T) {
	for _, c := range []struct {
		name  string
		touch Touch
		rows  []Row
		want  bool
	}{
		{"nothing known", put("/r", 4, "a"), nil, false},
		{"older row", put("/r", 4, "a"), []Row{mark("/r", 3, "a")}, false},
		{"same row", put("/r", 4, "a"), []Row{mark("/r", 4, "a")}, true},
		{"the owner is news", put("/r", 4, "a"), []Row{mark("/r", 4, "")}, false},
		{"no owner is no news", put("/r", 4, ""), []Row{mark("/r", 4, "a")}, true},
		{"a floor above", put("/d/r", 4, "a"), []Row{floor("/d", 4, "a")}, true},
		{"a tree needs a floor", tree("/d", 4, "a"), []Row{mark("/d", 4, "a")}, false},
		{"a tree has its floor", tree("/d", 4, "a"), []Row{floor("/d", 4, "a")}, true},
		{"tokenless", put("/r", 0, ""), nil, true},
	} {
		s := look(&c.touch, 0, c.rows)
		if got := covered(&c.touch, &s); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestBlocks(t *testing.T) {
	inTree := func(object string, token Token) Touch {
		return Touch{Fence: path("/t"), Object: path(object), FenceTree: true, Policy: Require, Stamp: Stamp{Token: token}}
	}
	for _, c := range []struct {
		name string
		b, q Touch
		want bool
	}{
		{"lower on the same object", put("/r", 1, ""), put("/r", 2, ""), true},
		{"equal on the same object", put("/r", 2, ""), put("/r", 2, ""), true},
		{"higher on the same object", put("/r", 3, ""), put("/r", 2, ""), true},
		{"another object", put("/r", 1, ""), put("/s", 2, ""), false},
		{"the parent, not a tree", put("/d", 1, ""), put("/d/r", 2, ""), false},
		{"a tree above", tree("/d", 2, ""), put("/d/r", 2, ""), true},
		{"below a tree", put("/d/r", 2, ""), tree("/d", 2, ""), true},
		{"equal in one fence, other object", inTree("/t/1", 2), inTree("/t/2", 2), false},
		{"lower in one fence, other object", inTree("/t/1", 1), inTree("/t/2", 2), true},
		{"higher in one fence, other object", inTree("/t/1", 3), inTree("/t/2", 2), false},
		{"tokenless before a token", put("/r", 0, ""), put("/r", 1, ""), true},
		{"tokenless in one fence, other object", inTree("/t/1", 0), inTree("/t/2", 0), false},
	} {
		if got := blocks([]Touch{c.b}, []Touch{c.q}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestJudgeSiblings(t *testing.T) {
	observed := func(t Touch) Touch { t.Policy = Observe; return t }
	for _, c := range []struct {
		name    string
		touches []Touch
		want    Reason
	}{
		{"one token", []Touch{tree("/a", 4, "x"), tree("/b", 4, "x")}, Passed},
		{"two tokens, apart", []Touch{tree("/a", 4, "x"), tree("/b", 7, "y")}, Passed},
		{"below with a higher token", []Touch{tree("/a", 4, "x"), tree("/a/b", 7, "y")}, StaleToken},
		{"twice with two owners", []Touch{put("/a", 4, "x"), put("/a", 4, "y")}, OwnerConflict},
		{"twice the same", []Touch{put("/a", 4, "x"), put("/a", 4, "x")}, Passed},
		{"in a tree that is observed", []Touch{tree("/a/b", 4, "x"), observed(tree("/a", 7, "x"))}, StaleToken},
		{"an observed one before", []Touch{observed(put("/a", 4, "x")), put("/a", 7, "x"), put("/a", 7, "y")}, OwnerConflict},
		{"beside an open one", []Touch{put("/a", 4, "x"), with(put("/a", 0, ""), func(t *Touch) { t.Policy = Open })}, Passed},
	} {
		got := judgeSiblings(c.touches).Reason
		if got == TreeFenced && c.want == StaleToken {
			got = StaleToken // either names the same conflict
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestMissingNamesTheFirst(t *testing.T) {
	all := standing{failed: true, stopped: true, holding: true, entry: true, begun: true}
	for _, c := range []struct {
		clear func(*standing)
		want  Reason
	}{
		{func(*standing) {}, LedgerUnavailable},
		{func(s *standing) { s.failed = false }, LedgerUnavailable},
		{func(s *standing) { s.covered = true }, Draining},
		{func(s *standing) { s.stopped = false }, Recovering},
		{func(s *standing) { s.holding = false }, Settling},
		{func(s *standing) { s.entry = false }, Busy},
		{func(s *standing) { s.begun = false }, Passed},
	} {
		c.clear(&all)
		if got := missing(all); got != c.want {
			t.Errorf("%+v: %q, want %q", all, got, c.want)
		}
	}
}

func TestStartAndStopRules(t *testing.T) {
	if got := holdAfter(Meta{Clean: true, Settle: time.Hour}, time.Minute); got != 0 {
		t.Errorf("hold after a clean stop: %s", got)
	}
	if got := holdAfter(Meta{Settle: time.Hour}, time.Minute); got != time.Hour {
		t.Errorf("hold with a longer settle stored: %s", got)
	}
	if got := holdAfter(Meta{Settle: time.Minute}, time.Hour); got != time.Hour {
		t.Errorf("hold with a shorter settle stored: %s", got)
	}
	if !endsClean(0, 0, false, false) {
		t.Error("an idle gate does not end clean")
	}
	for _, c := range []struct {
		begun, entries  int
		holding, failed bool
	}{{1, 0, false, false}, {0, 1, false, false}, {0, 0, true, false}, {0, 0, false, true}} {
		if endsClean(c.begun, c.entries, c.holding, c.failed) {
			t.Errorf("%+v ends clean", c)
		}
	}
	for o, want := range map[Outcome]bool{NotSent: false, Definite: false, Uncertain: true} {
		if leavesEntry(o, time.Second) != want || leavesEntry(o, 0) {
			t.Errorf("%s: leaves an entry %v, want %v, and never without settle time", o, leavesEntry(o, time.Second), want)
		}
	}
}
