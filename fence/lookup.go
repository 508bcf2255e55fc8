package fence

import (
	"context"
	"errors"
)

// watchBelow has a tree touch told of every row that rises below its fence from
// now on, pending ones included. What rose before and is durable, lookUp reads.
func (g *Gate) watchBelow(h *held) {
	h.watch()
	pending := func(cells []*cell) {
		for _, c := range cells {
			if c != nil && c.pending != nil && h.Fence != c.pending.Path && h.Fence.Covers(c.pending.Path) {
				h.below.add(&h.Touch, *c.pending)
			}
		}
	}
	pending(g.inCommit)
	pending(g.dirty)
}

// missingRows returns the cells that the touch is judged by and that have not
// been read from the ledger yet.
func (h *held) missingRows(cells []*cell) []*cell {
	if !h.fence.mark.loaded {
		cells = append(cells, &h.fence.mark)
	}
	for n := h.fence; n != nil; n = n.parent {
		if !n.floor.loaded {
			cells = append(cells, &n.floor)
		}
	}
	return cells
}

// lookUp reads what a request is judged by and memory lacks. It gives up the
// lock while it reads: however many rows lie below a tree, the gate goes on.
// The nodes concerned are held, so a row that is raised meanwhile stays in
// memory, above what is read here.
func (g *Gate) lookUp(ctx context.Context, p *Permit) error {
	var cells []*cell
	trees := false
	for i := range p.touches {
		if h := &p.touches[i]; h.Policy != Open {
			cells = h.missingRows(cells)
			trees = trees || h.Tree
		}
	}
	if len(cells) == 0 && !trees {
		return nil
	}
	keys := make([]Key, len(cells))
	for i, c := range cells {
		keys[i] = c.durable.Key
	}
	touches := make([]Touch, len(p.touches))
	for i := range p.touches {
		touches[i] = p.touches[i].Touch
	}
	g.reading.Add(1) // inTime's
	g.mu.Unlock()
	found, err := g.inTime(ctx, func(ctx context.Context) (found, error) { return g.readRows(ctx, keys, touches) })
	g.mu.Lock()
	if err != nil {
		return err
	}
	rows, sums := found.rows, found.below
	for i, c := range cells {
		if !c.loaded { // else another request has read it
			rows[i].Key = keys[i]
			c.durable, c.loaded = rows[i], true
		}
	}
	for i := range sums {
		h := &p.touches[i]
		h.below.add(&h.Touch, sums[i].highest)
		h.below.add(&h.Touch, sums[i].conflict)
	}
	return nil
}

// found is what a look-up has read.
type found struct {
	rows  []Row
	below []below // per touch
}

// errSlowLedger means that a look-up has taken longer than a request may wait.
var errSlowLedger = errors.New("the ledger did not answer in time; its disk may have stalled")

// inTime runs a look-up for at most MaxWait. A disk that stalls can hold up a
// read for as long as it likes, but not the request that asked for it.
func (g *Gate) inTime(ctx context.Context, read func(context.Context) (found, error)) (found, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.opts.MaxWait, errSlowLedger)
	defer cancel()
	type result struct {
		found found
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer g.reading.Done()
		f, err := read(ctx)
		done <- result{f, err}
	}()
	select {
	case r := <-done:
		return r.found, r.err
	case <-ctx.Done():
		return found{}, context.Cause(ctx)
	}
}

// readRows is the part of lookUp that runs without the lock.
func (g *Gate) readRows(ctx context.Context, keys []Key, touches []Touch) (found, error) {
	f := found{rows: make([]Row, len(keys)), below: make([]below, len(touches))}
	if len(keys) > 0 {
		if err := g.ledger.Read(keys, f.rows); err != nil {
			return found{}, err
		}
	}
	for i := range touches {
		t := &touches[i]
		if !t.Tree || t.Policy == Open {
			continue
		}
		err := g.ledger.Below(ctx, t.Fence, func(r Row) bool {
			f.below[i].add(t, r)
			return true
		})
		if err != nil {
			return found{}, err
		}
	}
	return f, nil
}

// Effective returns the durable row with the highest token at or above r, a
// row with NoToken if there is none. global is set where the global floor is
// the highest. ctx ends the wait for the ledger, as MaxWait does.
func (g *Gate) Effective(ctx context.Context, r Resource) (row Row, global bool, err error) {
	g.mu.Lock()
	if g.stopped {
		g.mu.Unlock()
		return Row{}, false, ErrStopped
	}
	g.reading.Add(1)
	floor := g.global
	g.mu.Unlock()

	keys := []Key{{Mark, r}, {Floor, r}}
	for p, ok := r.Parent(); ok; p, ok = p.Parent() {
		keys = append(keys, Key{Floor, p})
	}
	read, err := g.inTime(ctx, func(ctx context.Context) (found, error) { return g.readRows(ctx, keys, nil) })
	if err != nil {
		return Row{}, false, err
	}
	rows := read.rows
	row.Key = keys[0]
	for i := range rows {
		if rows[i].Token > row.Token {
			row = rows[i]
			row.Key = keys[i]
		}
	}
	if floor > row.Token {
		return globalRow(floor), true, nil
	}
	return row, false, nil
}
