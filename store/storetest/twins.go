package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fencegate/fence"
)

// Twins runs two ledgers through the same random life and fails where they
// differ. seed makes the run repeatable; rounds is the number of steps.
func Twins(t *testing.T, one, other Place, seed uint64, rounds int) {
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	places := [2]Place{one, other}
	ledgers := [2]fence.Ledger{mustStart(t, one), mustStart(t, other)}
	for range rounds {
		switch n := r.IntN(100); {
		case n < 80:
			rows := randomRows(r)
			for _, l := range ledgers {
				mustCommit(t, l, rows...)
			}
		case n < 97:
			path := randomPath(r)
			if diff := Diff(below(t, ledgers[0], path), below(t, ledgers[1], path)); diff != "" {
				t.Fatalf("seed %d: Below(%s) differs:\n%s", seed, path, diff)
			}
			for _, kind := range []fence.Kind{fence.Mark, fence.Floor} {
				key := []fence.Key{{Kind: kind, Path: fence.ResourceOf(path)}}
				var got [2][1]fence.Row
				for i, l := range ledgers {
					if err := l.Read(key, got[i][:]); err != nil {
						t.Fatal(err)
					}
				}
				if diff := Diff(got[0][:], got[1][:]); diff != "" {
					t.Fatalf("seed %d: Read(%s) differs:\n%s", seed, path, diff)
				}
			}
		default:
			twinsRestart(t, places, &ledgers, r)
		}
	}
}

func twinsRestart(t *testing.T, places [2]Place, ledgers *[2]fence.Ledger, r *rand.Rand) {
	end, settle := r.IntN(3), time.Duration(r.IntN(1e9))
	var before [2]fence.Meta
	for i, p := range places {
		before[i].Commits = mustMeta(t, ledgers[i]).Commits
		switch end {
		case 0:
			p.Crash(ledgers[i])
		default:
			mustClose(t, ledgers[i], end == 1)
		}
		l := mustOpen(t, p)
		m, err := l.Start(t.Context(), settle)
		if err != nil {
			t.Fatal(err)
		}
		m.ID, m.Commits = "", before[i].Commits
		before[i], ledgers[i] = m, l
	}
	if before[0] != before[1] {
		t.Fatalf("restart: %+v and %+v", before[0], before[1])
	}
}

func randomRows(r *rand.Rand) []fence.Row {
	rows := make([]fence.Row, r.IntN(8))
	for i := range rows {
		row := row(fence.Kind(r.IntN(2)), randomPath(r), fence.Token(r.IntN(50)), "")
		if r.IntN(3) > 0 {
			row.Owner = fence.Owner([]string{"a", "b", "owner-of-some-length"}[r.IntN(3)])
		}
		row.Client = fmt.Sprint("client ", r.IntN(5))
		row.Since = at.Add(time.Duration(r.Int64N(1e15)))
		rows[i] = row
	}
	return rows
}

func randomPath(r *rand.Rand) string {
	path := ""
	for range r.IntN(4) {
		path += "/" + []string{"a", "b", "a b", "ab", "a0", "ü", fmt.Sprint(r.IntN(40))}[r.IntN(7)]
	}
	if path == "" {
		return "/"
	}
	return path
}
