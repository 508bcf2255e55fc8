package fence

import "context"

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
	g.reading.Add(1)
	g.mu.Unlock()
	rows, sums, err := g.readRows(ctx, p, keys)
	g.mu.Lock()
	g.reading.Done()
	if err != nil {
		return err
	}
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

// readRows is the part of lookUp that runs without the lock.
func (g *Gate) readRows(ctx context.Context, p *Permit, keys []Key) (rows []Row, sums []below, err error) {
	if len(keys) > 0 {
		rows = make([]Row, len(keys))
		if err := g.ledger.Read(keys, rows); err != nil {
			return nil, nil, err
		}
	}
	sums = make([]below, len(p.touches))
	for i := range p.touches {
		t := &p.touches[i].Touch
		if !t.Tree || t.Policy == Open {
			continue
		}
		err := g.ledger.Below(ctx, t.Fence, func(r Row) bool {
			sums[i].add(t, r)
			return true
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return rows, sums, nil
}

// Effective returns the durable row with the highest token at or above r, a
// row with NoToken if there is none. global is set where the global floor is
// the highest.
func (g *Gate) Effective(r Resource) (row Row, global bool, err error) {
	g.mu.Lock()
	if g.stopped {
		g.mu.Unlock()
		return Row{}, false, ErrStopped
	}
	g.reading.Add(1)
	floor := g.global
	g.mu.Unlock()
	defer g.reading.Done()

	keys := []Key{{Mark, r}, {Floor, r}}
	for p, ok := r.Parent(); ok; p, ok = p.Parent() {
		keys = append(keys, Key{Floor, p})
	}
	rows := make([]Row, len(keys))
	if err := g.ledger.Read(keys, rows); err != nil {
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
