package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

func testEmpty(t *testing.T, p Place) {
	l := mustStart(t, p)
	wantRows(t, l, none(fence.Mark, "/a"), none(fence.Floor, "/a"), none(fence.Mark, "/"))
	wantRows(t, l)
	wantBelow(t, l, "/")
	mustCommit(t, l)
	m := mustMeta(t, l)
	if m.ID == "" || m.Kind != fence.AnyTokens || m.Global != fence.NoToken {
		t.Errorf("Meta of a new ledger: %+v", m)
	}
}

func testRaise(t *testing.T, p Place) {
	l := mustStart(t, p)
	mustCommit(t, l, mark("/a", 5, "x"))
	wantRows(t, l, mark("/a", 5, "x"))
	mustCommit(t, l, mark("/a", 6, ""))
	wantRows(t, l, mark("/a", 6, ""))
	mustCommit(t, l, mark("/a", fence.MaxToken, "y"))
	wantRows(t, l, mark("/a", fence.MaxToken, "y"))
}

func testOnlyRise(t *testing.T, p Place) {
	l := mustStart(t, p)
	mustCommit(t, l, mark("/a", 5, "x"), mark("/b", 5, ""))
	mustCommit(t, l, mark("/a", 4, "y"))
	mustCommit(t, l, mark("/a", 5, "y"))
	mustCommit(t, l, mark("/a", 5, ""))
	later := mark("/a", 5, "x")
	later.Client, later.Since = "other", at.Add(time.Hour)
	mustCommit(t, l, later)
	wantRows(t, l, mark("/a", 5, "x"))
	mustCommit(t, l, mark("/b", 5, "first"))
	mustCommit(t, l, mark("/b", 5, "second"))
	wantRows(t, l, mark("/b", 5, "first"))
	// One that falls does not keep another from rising.
	mustCommit(t, l, mark("/a", 1, ""), mark("/c", 1, ""))
	wantRows(t, l, mark("/a", 5, "x"), mark("/c", 1, ""))
}

func testOnlyRiseInBatch(t *testing.T, p Place) {
	l := mustStart(t, p)
	mustCommit(t, l, mark("/a", 5, ""), mark("/a", 7, ""), mark("/a", 6, "z"), mark("/a", 7, "x"), mark("/a", 7, "y"))
	wantRows(t, l, mark("/a", 7, "x"))
	var many []fence.Row // rows of one key count in their order
	for i := range 100 {
		many = append(many, mark("/b", 1, fence.Owner(fmt.Sprint(i))), mark(fmt.Sprint("/c/", i%10), 1, fence.Owner(fmt.Sprint(i))))
	}
	mustCommit(t, l, many...)
	wantRows(t, l, mark("/b", 1, "0"), mark("/c/3", 1, "3"))
}

func testNoToken(t *testing.T, p Place) {
	l := mustStart(t, p)
	mustCommit(t, l, mark("/a", fence.NoToken, "x"))
	wantRows(t, l, none(fence.Mark, "/a"))
	wantBelow(t, l, "/")
}

func testManyKeys(t *testing.T, p Place) {
	l := mustStart(t, p)
	const n = 500
	var rows, want []fence.Row
	for i := n - 1; i >= 0; i-- {
		path := fmt.Sprintf("/many/%d", i)
		if i%3 == 0 {
			want = append(want, none(fence.Mark, path))
			continue
		}
		r := mark(path, fence.Token(i), "o")
		rows, want = append(rows, r), append(want, r)
	}
	want = append(want, want[7]) // the same key twice
	mustCommit(t, l, rows...)
	wantRows(t, l, want...)
	if err := l.Read(make([]fence.Key, 2), make([]fence.Row, 1)); err == nil {
		t.Error("Read with more keys than rows succeeded")
	}
}

func testKindsApart(t *testing.T, p Place) {
	l := mustStart(t, p)
	mustCommit(t, l, mark("/a", 5, "m"), floor("/a", 3, "f"), floor("/", 1, "r"))
	wantRows(t, l, mark("/a", 5, "m"), floor("/a", 3, "f"), none(fence.Mark, "/"), floor("/", 1, "r"))
	mustCommit(t, l, floor("/a", 4, "g"))
	wantRows(t, l, mark("/a", 5, "m"), floor("/a", 4, "g"))
}

func testOddPaths(t *testing.T, p Place) {
	l := mustStart(t, p)
	long := "/" + strings.Repeat("ﬁ", 12<<10/3) // 12 KiB: what NFC can make of 4096 escaped bytes
	rows := []fence.Row{
		mark("/ü/日本語/🔒", 1, "a"), mark("/a b", 2, "b"), mark("/%", 3, "c"), mark("/a?x=1", 4, "d"),
		mark(long, 5, "e"), mark(long+"/below", 6, "f"), mark("/"+strings.Repeat("x/", 2000)+"x", 7, "g"),
	}
	for i := range 20 {
		rows = append(rows, floor(fmt.Sprintf("%s/%d", long, i), 8, "h"))
	}
	mustCommit(t, l, rows...)
	wantRows(t, l, rows...)
	if got := below(t, l, long); len(got) != 21 {
		t.Errorf("%d rows below the long path, want 21", len(got))
	}
	l = reopen(t, p, l)
	wantRows(t, l, rows...)
}

func testAudit(t *testing.T, p Place) {
	l := mustStart(t, p)
	r := mark("/a", 1, fence.Owner(strings.Repeat("~", fence.MaxOwnerLen)))
	r.Client = strings.Repeat("ü", fence.MaxClientLen/2)
	r.Since = at.In(time.FixedZone("elsewhere", 5*3600))
	never := mark("/never", 1, "")
	never.Client, never.Since = "", time.Time{}
	mustCommit(t, l, r, never)
	for range 2 {
		var got [2]fence.Row
		if err := l.Read([]fence.Key{r.Key, never.Key}, got[:]); err != nil {
			t.Fatal(err)
		}
		if got[0].Client != r.Client || got[0].Owner != r.Owner || !got[0].Since.Equal(at) || got[0].Since.Location() != time.UTC {
			t.Errorf("got client %q since %s, want %q since %s", got[0].Client, got[0].Since, r.Client, at)
		}
		if got[1].Client != "" || !got[1].Since.IsZero() {
			t.Errorf("got client %q since %s, want none", got[1].Client, got[1].Since)
		}
		l = reopen(t, p, l)
	}
}

func testUnstorable(t *testing.T, p Place) {
	l := mustStart(t, p)
	for name, bad := range map[string]fence.Row{
		"no path":      {Token: 1},
		"relative":     mark("a", 1, ""),
		"no kind":      row(7, "/a", 1, ""),
		"high token":   mark("/a", fence.MaxToken+1, ""),
		"long owner":   mark("/a", 1, fence.Owner(strings.Repeat("s", fence.MaxOwnerLen+1))),
		"long client":  {Key: mark("/a", 1, "").Key, Token: 1, Client: strings.Repeat("s", fence.MaxClientLen+1)},
		"path too big": mark("/"+strings.Repeat("x", 64<<10), 1, ""),
	} {
		err := l.Commit(t.Context(), []fence.Row{mark("/good", 1, ""), bad})
		if err == nil {
			t.Errorf("%s: committed", name)
		} else if errors.Is(err, fence.ErrLedgerFull) || strings.Contains(err.Error(), "sss") {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantBelow(t, l, "/")
	mustCommit(t, l, mark("/good", 1, ""))
	wantRows(t, l, mark("/good", 1, ""))
}

func testBelowBoundaries(t *testing.T, p Place) {
	l := mustStart(t, p)
	rows := []fence.Row{
		mark("/", 1, ""), mark("/a", 2, ""), mark("/a b", 3, ""), mark("/a!", 4, ""), mark("/a.x", 5, ""), mark("/a/b", 6, ""),
		mark("/a/b/c", 7, ""), mark("/a0", 8, ""), mark("/ab", 9, ""), mark("/b/a/b", 10, ""),
		floor("/", 11, ""), floor("/a", 12, ""), floor("/a/", 13, ""), floor("/a/b", 14, ""), floor("/a0/b", 15, ""),
	}
	mustCommit(t, l, rows...)
	wantBelow(t, l, "/a", mark("/a/b", 6, ""), mark("/a/b/c", 7, ""), floor("/a/", 13, ""), floor("/a/b", 14, ""))
	wantBelow(t, l, "/a/b", mark("/a/b/c", 7, ""))
	wantBelow(t, l, "/a0", floor("/a0/b", 15, ""))
	wantBelow(t, l, "/ab")
	wantBelow(t, l, "/nothing")
	wantBelow(t, l, "/", append(append([]fence.Row(nil), rows[1:10]...), rows[11:]...)...)
	if err := l.Below(t.Context(), fence.Resource{}, func(fence.Row) bool { return true }); err == nil {
		t.Error("Below no path succeeded")
	}
}

// testBelowMany has more rows than a ledger may want to hand out at a time.
func testBelowMany(t *testing.T, p Place) {
	l := mustStart(t, p)
	const n = 2501
	rows := []fence.Row{mark("/tree", 1, ""), mark("/tree0", 1, "")}
	for i := range n {
		rows = append(rows, mark(fmt.Sprintf("/tree/%05d", i), fence.Token(i+1), "o"))
	}
	mustCommit(t, l, rows...)
	wantBelow(t, l, "/tree", rows[2:]...)
}

func testBelowStops(t *testing.T, p Place) {
	l := mustStart(t, p)
	mustCommit(t, l, mark("/a/1", 1, ""), mark("/a/2", 1, ""), floor("/a/3", 1, ""))
	n := 0
	err := l.Below(t.Context(), fence.ResourceOf("/a"), func(fence.Row) bool { n++; return n < 2 })
	if err != nil || n != 2 {
		t.Errorf("yield was called %d times, want 2; error %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = l.Below(ctx, fence.ResourceOf("/a"), func(fence.Row) bool { return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Below with an ended context: %v", err)
	}
}

// testBelowUsesLedger: whoever walks over rows may look at others and commit,
// more than once around.
func testBelowUsesLedger(t *testing.T, p Place) {
	l := mustStart(t, p)
	const n = 30
	for i := range n {
		mustCommit(t, l, mark(fmt.Sprintf("/a/%02d", i), 1, ""))
	}
	seen := 0
	err := l.Below(t.Context(), fence.ResourceOf("/a"), func(r fence.Row) bool {
		seen++
		big := mark(fmt.Sprintf("/b/%d/%s", seen, strings.Repeat("x", 8<<10)), 1, "") // makes the file grow
		mustCommit(t, l, big)
		wantRows(t, l, big)
		return true
	})
	if err != nil || seen != n {
		t.Errorf("saw %d rows, want %d; error %v", seen, n, err)
	}
}
