package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
	"fencegate/store/bolt"
)

// A raiser raises marks on disk, without HTTP: the way of the first write of a new
// holder, or what takes its place. Its methods may be called at once.
type raiser interface {
	// raise returns when the i-th mark has the token on disk.
	raise(ctx context.Context, i int, t fence.Token) error
	// mark returns the token that the i-th mark has on disk.
	mark(i int) (fence.Token, error)
}

// gateRaiser raises as fencegate does: through the gate, which commits for many at
// once.
type gateRaiser struct {
	gate   *fence.Gate
	ledger *bolt.Ledger
}

func openGate(ctx context.Context, dir string) (*gateRaiser, error) {
	l, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		return nil, err
	}
	gate, err := fence.Start(ctx, l, fence.Options{})
	if err != nil {
		return nil, errors.Join(err, l.Close(false))
	}
	return &gateRaiser{gate, l}, nil
}

func (g *gateRaiser) close(ctx context.Context) error { return g.gate.Stop(ctx) }

func (g *gateRaiser) raise(ctx context.Context, i int, t fence.Token) error {
	return g.pass(ctx, touching(i, t))
}

// touching is a request that writes the i-th resource.
func touching(i int, t fence.Token) fence.Request {
	row := rowOf(i, t)
	return fence.Request{Touches: []fence.Touch{{
		Fence: row.Path, Object: row.Path, Policy: fence.Require,
		Stamp: fence.Stamp{Token: row.Token, Owner: row.Owner, Client: row.Client},
	}}}
}

// pass has a request arrive, begin and end.
func (g *gateRaiser) pass(ctx context.Context, r fence.Request) error {
	p, v := g.gate.Arrive(ctx, r)
	if v.OK() {
		v = p.Begin(ctx)
	}
	if !v.OK() {
		return fmt.Errorf("%s with token %s is refused: %s %w", r.Touches[0].Fence, r.Touches[0].Stamp.Token, v.Reason, v.Err)
	}
	p.Done(fence.Definite)
	return nil
}

// allocations returns how many each of n passes with the same token costs. What
// else the process does meanwhile counts too, but disappears among many.
func (g *gateRaiser) allocations(ctx context.Context, n int) (float64, error) {
	r := touching(0, fence.Token(time.Now().UnixMicro()))
	if err := g.pass(ctx, r); err != nil { // the raise
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		if err := g.pass(ctx, r); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	// Whole ones, as testing.AllocsPerRun counts.
	return math.Floor(float64(after.Mallocs-before.Mallocs) / float64(n)), nil
}

func (g *gateRaiser) mark(i int) (fence.Token, error) {
	rows := make([]fence.Row, 1)
	err := g.ledger.Read([]fence.Key{{Path: markOf(i)}}, rows)
	return rows[0].Token, err
}

// bareRaiser puts the same keys, and values as long, into a copy of the ledger with
// bbolt alone: one transaction for each. It compares nothing. The options are those
// that cost least.
type bareRaiser struct {
	db    *bbolt.DB
	value []byte // of a mark: store/bolt/schema.go
}

// tokenAt is where a mark's value has its token.
const tokenAt = 1

func openBare(dir string) (*bareRaiser, error) {
	db, err := bbolt.Open(filepath.Join(dir, ledgerFile), 0o600, &bbolt.Options{
		Timeout: time.Second, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true,
	})
	if err != nil {
		return nil, err
	}
	b := &bareRaiser{db: db}
	err = db.View(func(tx *bbolt.Tx) error {
		b.value = slices.Clone(tx.Bucket(marksBucket).Get([]byte(markOf(0).Key())))
		if len(b.value) < tokenAt+8 || binary.BigEndian.Uint64(b.value[tokenAt:]) != firstMark {
			return fmt.Errorf("a mark's value is %x: its token is not where it was", b.value)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return b, nil
}

func (b *bareRaiser) close(context.Context) error { return b.db.Close() }

func (b *bareRaiser) raise(_ context.Context, i int, t fence.Token) error {
	key, value := []byte(markOf(i).Key()), slices.Clone(b.value)
	binary.BigEndian.PutUint64(value[tokenAt:], uint64(t))
	return b.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(marksBucket).Put(key, value) })
}

func (b *bareRaiser) mark(i int) (t fence.Token, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(marksBucket).Get([]byte(markOf(i).Key()))
		if len(value) != len(b.value) {
			return fmt.Errorf("mark %d has the value %x", i, value)
		}
		t = fence.Token(binary.BigEndian.Uint64(value[tokenAt:]))
		return nil
	})
	return t, err
}

// raising is what many callers of a raiser do.
type raising struct {
	callers, marks int
	duration       time.Duration
}

// raisings is what one caller has done.
type raisings struct {
	took []time.Duration // of each
	last int             // the mark that it has raised last, and to what
	to   fence.Token
	err  error
}

// run has all callers raise marks at random for a while. Each has marks of its own,
// so that no raise is refused, and tokens are above all before, since they begin
// with the time in µs. In the end the last marks are looked up on disk.
func (r raising) run(ctx context.Context, on raiser) (t tally, err error) {
	begin := time.Now()
	done := make(chan raisings, r.callers)
	for caller := range r.callers {
		go func() { done <- r.caller(ctx, on, caller, begin) }()
	}
	var took []time.Duration
	var all []raisings
	for range r.callers {
		of := <-done
		err = errors.Join(err, of.err)
		took, all = append(took, of.took...), append(all, of)
	}
	t.Micros = time.Since(begin).Microseconds()
	if err != nil {
		return t, err
	}
	for _, of := range all {
		if got, err := on.mark(of.last); err != nil || got != of.to {
			return t, fmt.Errorf("mark %d is %s on disk, %w; it was raised to %s", of.last, got, err, of.to)
		}
	}
	slices.Sort(took)
	t.Requests = int64(len(took))
	t.P50, t.P99 = took[len(took)/2].Microseconds(), took[len(took)*99/100].Microseconds()
	return t, nil
}

func (r raising) caller(ctx context.Context, on raiser, caller int, begin time.Time) (of raisings) {
	token := fence.Token(begin.UnixMicro())
	for before := begin; ; {
		token++
		of.last, of.to = caller+r.callers*rand.IntN(r.marks/r.callers), token
		if of.err = on.raise(ctx, of.last, token); of.err != nil {
			return of
		}
		now := time.Now()
		of.took = append(of.took, now.Sub(before))
		if now.Sub(begin) >= r.duration {
			return of
		}
		before = now
	}
}
