package fence

import (
	"context"
	"errors"
)

// errScansBusy means that no scan has ended in time.
var errScansBusy = errors.New("too many requests for whole trees")

// scanBelow tells the tree touches of p of every row below their fences. Few
// scans run at once: each may read the whole ledger. Like readMissing it gives
// up the lock while it waits and reads.
func (g *Gate) scanBelow(ctx context.Context, p *passage) error {
	touches := make([]Touch, len(p.touches))
	for i := range p.touches {
		touches[i] = p.touches[i].Touch
	}
	roots := scanRoots(touches)
	if len(roots) == 0 {
		return nil
	}
	if g.stopped {
		return ErrStopped
	}
	g.reading.Add(1) // inTime's
	g.mu.Unlock()
	sums, err := g.scan(ctx, roots, touches)
	g.mu.Lock()
	for i := range sums {
		h := &p.touches[i]
		h.below.add(&h.Touch, sums[i].highest)
		h.below.add(&h.Touch, sums[i].conflict)
	}
	return err
}

// scan waits for its turn and reads.
func (g *Gate) scan(ctx context.Context, roots []Resource, touches []Touch) ([]below, error) {
	var err error
	select {
	case g.scans <- struct{}{}:
		return inTime(ctx, g, func() ([]below, error) {
			defer func() { <-g.scans }() // when it has ended, not when nobody waits for it any more
			return g.sumUp(ctx, roots, touches)
		})
	case <-ctx.Done():
		err = errScansBusy
	case <-g.stopping:
		err = ErrStopped
	}
	g.reading.Done()
	return nil, err
}

// scanRoots returns the fences of the tree touches without those that lie in
// another one.
func scanRoots(touches []Touch) []Resource {
	trees := make(map[Resource]bool)
	for i := range touches {
		if t := &touches[i]; t.Tree && t.Policy != Open {
			trees[t.Fence] = true
		}
	}
	var roots []Resource
	for r := range trees {
		inner := false
		for p, ok := r.Parent(); ok && !inner; p, ok = p.Parent() {
			inner = trees[p]
		}
		if !inner {
			roots = append(roots, r)
		}
	}
	return roots
}

// sumUp reads everything below each root once, for all touches in it.
func (g *Gate) sumUp(ctx context.Context, roots []Resource, touches []Touch) ([]below, error) {
	sums := make([]below, len(touches))
	for _, root := range roots {
		var in []int
		for i := range touches {
			if t := &touches[i]; t.Tree && t.Policy != Open && root.Covers(t.Fence) {
				in = append(in, i)
			}
		}
		err := g.ledger.Below(ctx, root, func(r Row) bool {
			for _, i := range in {
				if t := &touches[i]; t.Fence != r.Path && t.Fence.Covers(r.Path) {
					sums[i].add(t, r)
				}
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}
