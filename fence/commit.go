package fence

import (
	"context"
	"errors"
	"time"
)

// kickCommit starts a commit unless one runs: whatever is raised while it runs
// goes into the next one, so that any number of raises share one fsync.
func (g *Gate) kickCommit() {
	if len(g.dirty) == 0 || g.committing || g.failed != nil {
		return
	}
	g.committing = true
	g.committed.Go(g.commitAll)
}

// commitAll commits until nothing is pending.
func (g *Gate) commitAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.dirty) > 0 && g.failed == nil {
		g.inCommit, g.dirty = g.dirty, g.inCommit[:0]
		rows := g.batch[:0]
		for _, c := range g.inCommit {
			rows = append(rows, *c.pending)
		}
		g.mu.Unlock()
		err := g.commitRows(rows)
		g.mu.Lock()
		if err != nil {
			g.fail(err)
			break
		}
		g.nowDurable(rows)
		clear(rows)
		if g.batch = rows; cap(rows) > maxSpare {
			g.batch = nil
		}
	}
	g.committing = false
}

// commitRows writes one batch. A full disk fails nothing: it is tried again,
// and meanwhile nothing that needs these rows begins.
func (g *Gate) commitRows(rows []Row) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		start := time.Now()
		err := g.ledger.Commit(context.Background(), rows)
		if g.opts.OnCommit != nil {
			g.opts.OnCommit(len(rows), time.Since(start), err)
		}
		full := errors.Is(err, ErrLedgerFull)
		g.mu.Lock()
		g.full = full
		g.mu.Unlock()
		if !full || !g.pauseCommit(pause) {
			return err
		}
	}
}

// pauseCommit waits before a full ledger is tried again; false means that the
// gate has stopped.
func (g *Gate) pauseCommit(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.stopping:
		return false
	}
}

// nowDurable takes over a committed batch and lets those begin whom it covers.
func (g *Gate) nowDurable(rows []Row) {
	committed := g.inCommit
	for i, c := range committed {
		c.durable = rows[i]
		if c.pending.Above(rows[i]) {
			g.dirty = append(g.dirty, c) // it rose again meanwhile
		} else {
			g.putRow(c.pending)
			c.pending = nil
		}
	}
	for i, c := range committed {
		n := g.nodes.all[rows[i].Path.key]
		g.wake(g.around(n, rows[i].Kind == Floor))
		if c.pending == nil {
			g.nodes.release(n)
		}
	}
	clear(committed)
}

// takeRow returns a row to be pending; putRow takes it back.
func (g *Gate) takeRow() *Row {
	if n := len(g.spareRows); n > 0 {
		row := g.spareRows[n-1]
		g.spareRows = g.spareRows[:n-1]
		return row
	}
	return new(Row)
}

func (g *Gate) putRow(row *Row) {
	*row = Row{}
	if len(g.spareRows) < maxSpare {
		g.spareRows = append(g.spareRows, row)
	}
}

// fail latches a ledger failure: what waits is refused, nothing begins again.
func (g *Gate) fail(err error) {
	g.failed = err
	for _, p := range g.waiting.all() {
		if p.enforced && p.phase <= ready {
			p.verdict = Verdict{Reason: LedgerUnavailable, Err: err}
			g.end(p)
		}
	}
}
