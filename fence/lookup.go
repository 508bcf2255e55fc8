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
// memory, above what is read here. What the rows at and above refuse for good
// needs no scan, which is what a stranger could have many of.
func (g *Gate) lookUp(ctx context.Context, p *passage) error {
	if p.known() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.opts.MaxWait, errSlowLedger)
	defer cancel()
	if err := g.readMissing(ctx, p); err != nil {
		return err
	}
	if v := g.judge(p); v.Reason == StaleToken || v.Reason == TokenMissing {
		return nil
	}
	return g.scanBelow(ctx, p)
}

// known reports whether memory has all that the permit is judged by, as it has
// for a holder that goes on writing.
func (p *passage) known() bool {
	for i := range p.touches {
		if h := &p.touches[i]; h.Policy != Open && (h.Tree || h.missingRows(nil) != nil) {
			return false
		}
	}
	return true
}

func (g *Gate) readMissing(ctx context.Context, p *passage) error {
	var cells []*cell
	for i := range p.touches {
		if h := &p.touches[i]; h.Policy != Open {
			cells = h.missingRows(cells)
		}
	}
	if len(cells) == 0 {
		return nil
	}
	keys := make([]Key, len(cells))
	for i, c := range cells {
		keys[i] = c.durable.Key
	}
	g.reading.Add(1) // inTime's
	g.mu.Unlock()
	rows, err := inTime(ctx, g, func() ([]Row, error) { return g.readRows(keys) })
	g.mu.Lock()
	if err != nil {
		return err
	}
	for i, c := range cells {
		if !c.loaded { // else another request has read it
			rows[i].Key = keys[i]
			c.durable, c.loaded = rows[i], true
		}
	}
	return nil
}

func (g *Gate) readRows(keys []Key) ([]Row, error) {
	rows := make([]Row, len(keys))
	return rows, g.ledger.Read(keys, rows)
}

// errSlowLedger means that a look-up has taken longer than a request may wait.
var errSlowLedger = errors.New("the ledger did not answer in time; its disk may have stalled")

// inTime runs a look-up, counted in g.reading, until ctx ends. A disk that
// stalls can hold up a read for as long as it likes, but not the request that
// asked for it.
func inTime[T any](ctx context.Context, g *Gate, read func() (T, error)) (found T, err error) {
	type result struct {
		found T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer g.reading.Done()
		found, err := read()
		done <- result{found, err}
	}()
	select {
	case r := <-done:
		return r.found, r.err
	case <-ctx.Done():
		return found, context.Cause(ctx)
	}
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
	ctx, cancel := context.WithTimeoutCause(ctx, g.opts.MaxWait, errSlowLedger)
	defer cancel()
	rows, err := inTime(ctx, g, func() ([]Row, error) { return g.readRows(keys) })
	if err != nil {
		return Row{}, false, err
	}
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
