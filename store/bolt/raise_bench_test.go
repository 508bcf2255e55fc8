package bolt

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
)

// BenchmarkRaise is the way of the first write of a new holder: through the gate,
// which must have its token on disk before it begins. Beside it, in turns, as many
// callers put the same keys and values into a copy of the ledger with bbolt alone,
// a transaction each, which is what it would cost without group commit. Only
// the ratio means something on a machine that others use:
//
//	ns/op    of one raise, all callers together, in the middle one of all turns
//	×bare    raises per Update in the same time, by the middle turns of both
//	rows/tx  raises that shared a transaction
//
// Every caller has marks of its own, so that none is refused.
func BenchmarkRaise(b *testing.B) {
	forSizes(b, func(b *testing.B, dir string, marks int) {
		for _, callers := range []int{1, 16, 64, 256} {
			b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
				raiseBeside(b, dir, marks, callers)
			})
		}
	})
}

func raiseBeside(b *testing.B, dir string, marks, callers int) {
	db := bareCopy(b, dir)
	l := openStarted(b, dir)
	gate, err := fence.Start(b.Context(), heldOver{l}, fence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	meta, err := l.Meta()
	if err != nil {
		b.Fatal(err)
	}
	var tokens atomic.Uint64
	tokens.Store(uint64(time.Now().UnixMicro())) // above all before
	// own picks a row of the caller's at random.
	own := func(caller int) fence.Row {
		return nth(caller+callers*rand.IntN(marks/callers), fence.Token(tokens.Add(1)))
	}
	raise := func(caller int) {
		row := own(caller)
		p, v := gate.Arrive(context.Background(), fence.Request{Touches: []fence.Touch{{
			Fence: row.Path, Object: row.Path, Policy: fence.Require,
			Stamp: fence.Stamp{Token: row.Token, Owner: row.Owner, Client: row.Client},
		}}})
		if v.OK() {
			v = p.Begin(context.Background())
		}
		if !v.OK() {
			b.Error(v.Reason, v.Err)
			return
		}
		p.Done(fence.Definite)
	}
	put := func(caller int) {
		row := own(caller)
		key := []byte(row.Path.Key())
		value := encodeRow(&row, key)
		if err := db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(marksBucket).Put(key, value) }); err != nil {
			b.Error(err)
		}
	}

	const each = 4 // raises of each caller in its turn
	puts := max(each, callers/4)
	together(callers, callers, raise) // warm
	together(callers, puts, put)
	var raising, putting []float64
	for b.Loop() {
		raising = append(raising, float64(together(callers, each*callers, raise).Nanoseconds())/float64(each*callers))
		putting = append(putting, float64(together(callers, puts, put).Nanoseconds())/float64(puts))
	}
	after, err := l.Meta()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(middle(raising), "ns/op")
	b.ReportMetric(middle(putting), "ns/Update")
	b.ReportMetric(middle(putting)/middle(raising), "×bare")
	b.ReportMetric(float64(each*callers*len(raising)+callers)/float64(after.Commits-meta.Commits), "rows/tx")
	if err := gate.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// heldOver is a ledger whose hold after an unclean start is over.
type heldOver struct{ *Ledger }

func (l heldOver) Start(context.Context, time.Duration) (fence.Meta, error) {
	return fence.Meta{Clean: true}, nil
}

// middle returns the median: the mean of a disk's times is that of its pauses.
func middle(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// together has so many callers call f n times in all, and returns how long
// it took.
func together(callers, n int, f func(caller int)) time.Duration {
	var all sync.WaitGroup
	start := time.Now()
	for i := range callers {
		all.Go(func() {
			for range (n + i) / callers {
				f(i)
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// bareCopy opens a copy of a ledger with bbolt alone, as the ledger opens it.
func bareCopy(b *testing.B, dir string) *bbolt.DB {
	from, err := os.Open(filepath.Join(dir, ledgerName))
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		b.Fatal(err)
	}
	if err := to.Sync(); err != nil {
		b.Fatal(err)
	}
	db, err := bbolt.Open(to.Name(), 0, boltOptions(to, DefaultWait))
	if err != nil {
		b.Fatal(err)
	}
	return db
}
