package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fencegate/fence"
)

// testReadersBesideCommit: what was committed before a read began is seen by
// it, and no row ever falls, while the ledger grows under the readers.
func testReadersBesideCommit(t *testing.T, p Place) {
	l := mustStart(t, p)
	rounds := fence.Token(300)
	if testing.Short() {
		rounds = 60
	}
	key := []fence.Key{mark("/hot", 1, "").Key}
	var done atomic.Uint64 // the last token whose commit has returned
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var row [1]fence.Row
			for last := fence.NoToken; last < rounds; {
				least := max(last, fence.Token(done.Load()))
				if err := l.Read(key, row[:]); err != nil {
					t.Errorf("Read: %v", err)
					return
				}
				if row[0].Token < least {
					t.Errorf("read token %d after %d", row[0].Token, least)
					return
				}
				last = row[0].Token
			}
		})
	}
	wg.Go(func() {
		for done.Load() < uint64(rounds) {
			least, n := done.Load(), uint64(0)
			err := l.Below(t.Context(), fence.ResourceOf("/cold"), func(fence.Row) bool { n++; return true })
			if err != nil || n < least {
				t.Errorf("Below saw %d rows after %d commits, error %v", n, least, err)
				return
			}
		}
	})
	filler := strings.Repeat("x", 1000)
	for i := fence.Token(1); i <= rounds; i++ {
		mustCommit(t, l, mark("/hot", i, ""), mark(fmt.Sprintf("/cold/%d/%s", i, filler), i, ""))
		done.Store(uint64(i))
	}
	wg.Wait()
}

// testBatchIsAtomic: readers see the rows of one batch together or not at all,
// wherever in the key order they lie.
func testBatchIsAtomic(t *testing.T, p Place) {
	l := mustStart(t, p)
	rounds := fence.Token(200)
	if testing.Short() {
		rounds = 50
	}
	batch := func(token fence.Token) []fence.Row {
		return []fence.Row{mark("/z", token, ""), floor("/a", token, ""), mark("/a", token, ""), floor("/m/m", token, "")}
	}
	var keys []fence.Key
	for _, r := range batch(1) {
		keys = append(keys, r.Key)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			rows := make([]fence.Row, len(keys))
			for rows[0].Token < rounds {
				if err := l.Read(keys, rows); err != nil {
					t.Errorf("Read: %v", err)
					return
				}
				for _, r := range rows[1:] {
					if r.Token != rows[0].Token {
						t.Errorf("half a batch: %s has %d, %s has %d", rows[0].Path, rows[0].Token, r.Path, r.Token)
						return
					}
				}
			}
		})
	}
	for i := fence.Token(1); i <= rounds; i++ {
		mustCommit(t, l, batch(i)...)
	}
	wg.Wait()
}
