package storetest

import (
	"fmt"
	"testing"
	"time"

	"fencegate/fence"
)

// reopen closes l and opens its place again, started.
func reopen(t *testing.T, p Place, l fence.Ledger) fence.Ledger {
	t.Helper()
	mustClose(t, l, false)
	return mustStart(t, p)
}

func testRowsLast(t *testing.T, p Place) {
	l := mustStart(t, p)
	id := mustMeta(t, l).ID
	var want []fence.Row
	for i := range 50 {
		r := mark(fmt.Sprintf("/%d", i), fence.Token(i+1), "o")
		mustCommit(t, l, r)
		want = append(want, r)
		switch i % 10 {
		case 3:
			mustClose(t, l, true)
			l = mustStart(t, p)
		case 7:
			p.Crash(l)
			l = mustStart(t, p)
		}
	}
	wantRows(t, l, want...)
	if got := mustMeta(t, l).ID; got != id {
		t.Errorf("the id changed from %s to %s", id, got)
	}
}

func testCleanFlag(t *testing.T, p Place) {
	start := func(wantClean bool, when string) fence.Ledger {
		t.Helper()
		l := mustOpen(t, p)
		if got := mustMeta(t, l).Clean; got != wantClean {
			t.Errorf("%s: Meta says clean %t", when, got)
		}
		before, err := l.Start(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if before.Clean != wantClean {
			t.Errorf("%s: Start says clean %t", when, before.Clean)
		}
		if mustMeta(t, l).Clean {
			t.Errorf("%s: Start left the flag set", when)
		}
		return l
	}
	mustClose(t, start(false, "new"), true)
	mustClose(t, start(true, "after a clean stop"), false)
	l := start(false, "after an unclean stop")
	mustCommit(t, l, mark("/a", 1, ""))
	mustClose(t, l, true)
	p.Crash(start(true, "after a clean stop with a row"))
	l = start(false, "after a crash")
	mustCommit(t, l, mark("/a", 2, ""))
	p.Crash(l)
	mustClose(t, start(false, "after a crash with a row"), true)
	// Looking changes nothing.
	mustClose(t, mustOpen(t, p), false)
	p.Crash(mustOpen(t, p))
	mustClose(t, start(true, "after looking"), true)
}

// testCleanNeedsStart: who never started cannot vouch for who was before.
func testCleanNeedsStart(t *testing.T, p Place) {
	p.Crash(mustStart(t, p))
	mustClose(t, mustOpen(t, p), true)
	if mustMeta(t, mustOpen(t, p)).Clean {
		t.Error("Close(true) without Start set the flag")
	}
}

// testSettle: after a clean stop settle is what the last start said; after any
// other, the longest since the last clean one.
func testSettle(t *testing.T, p Place) {
	const long, short = 30 * time.Second, 100*time.Millisecond + 1
	last := time.Duration(0)
	for _, run := range []struct {
		settle, stored time.Duration
		clean          bool
	}{
		{short, short, false}, {long, long, false}, {short, long, false}, {0, long, false}, {short, long, true},
		{0, 0, true}, {short, short, true}, {long, long, true}, {0, 0, false}, {long, long, false},
	} {
		l := mustOpen(t, p)
		before, err := l.Start(t.Context(), run.settle)
		if err != nil {
			t.Fatal(err)
		}
		if before.Settle != last || mustMeta(t, l).Settle != run.stored {
			t.Errorf("settle was %s and is %s, want %s and %s", before.Settle, mustMeta(t, l).Settle, last, run.stored)
		}
		if run.clean {
			mustClose(t, l, true)
		} else {
			p.Crash(l)
		}
		last = run.stored
	}
	l := mustOpen(t, p)
	if _, err := l.Start(t.Context(), -1); err == nil {
		t.Error("Start with a negative settle succeeded")
	}
}

func testCommits(t *testing.T, p Place) {
	l := mustOpen(t, p)
	if n := mustMeta(t, l).Commits; n != 0 {
		t.Errorf("%d commits of an opened ledger", n)
	}
	if _, err := l.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	last := mustMeta(t, l).Commits
	want := func(n uint64, what string, rows ...fence.Row) {
		t.Helper()
		mustCommit(t, l, rows...)
		now := mustMeta(t, l).Commits
		if now-last != n {
			t.Errorf("%s counted as %d commits, want %d", what, now-last, n)
		}
		last = now
	}
	want(1, "a batch", mark("/a", 5, "x"), mark("/b", 5, ""), floor("/c", 1, ""))
	want(0, "the same batch", mark("/a", 5, "x"), mark("/b", 5, ""), floor("/c", 1, ""))
	want(0, "a covered batch", mark("/a", 4, "y"), mark("/a", 5, "y"))
	want(0, "an empty batch")
	want(1, "a batch with one that rises", mark("/a", 5, "x"), mark("/b", 5, "o"))
}

func testClosed(t *testing.T, p Place) {
	l := mustStart(t, p)
	mustClose(t, l, true)
	mustClose(t, l, true)
	mustClose(t, l, false)
	one := []fence.Row{mark("/a", 1, "")}
	_, startErr := l.Start(t.Context(), 0)
	_, metaErr := l.Meta()
	for what, err := range map[string]error{
		"Read":   l.Read([]fence.Key{one[0].Key}, make([]fence.Row, 1)),
		"Below":  l.Below(t.Context(), fence.Root, func(fence.Row) bool { return true }),
		"Commit": l.Commit(t.Context(), one),
		"Start":  startErr,
		"Meta":   metaErr,
	} {
		if err == nil {
			t.Errorf("%s succeeded on a closed ledger", what)
		}
	}
	if !mustMeta(t, mustOpen(t, p)).Clean {
		t.Error("closing again cleared the flag")
	}
}
