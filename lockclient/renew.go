package lockclient

import (
	"context"
	"time"
)

// keepTick is how often the keeper looks at the clock at least. Timers stand
// still while the machine is suspended, so that one set for the deadline would
// fire late by that much.
const keepTick = time.Second

// keep renews the lease until it is released or lost. It never waits for Redis
// beyond the local deadline.
func (l *Lock) keep() {
	defer close(l.kept)
	metrics := l.set.metrics
	var failing time.Time // since when renewals fail
	defer func() {
		if !failing.IsZero() {
			metrics.unavailable(l.set.name, time.Since(failing))
		}
	}()
	// The next renewal is due when after has passed since from.
	l.mu.Lock()
	from := l.lease.sent
	l.mu.Unlock()
	after, failures := renewAfter(l.set.ttl), 0
	for l.check() == nil {
		now := l.c.clock.now()
		if wait := after - now.since(from); wait > 0 {
			if !pause(l.ctx, min(wait, l.Remaining(), keepTick)) {
				return
			}
			continue
		}
		err := l.renew()
		from = l.c.clock.now()
		switch {
		case l.ctx.Err() != nil:
			return
		case err == nil:
			metrics.renewed(l.set.name, "ok")
			if !failing.IsZero() {
				metrics.unavailable(l.set.name, time.Since(failing))
				failing = time.Time{}
			}
			after, failures = renewAfter(l.set.ttl), 0
		default:
			metrics.renewed(l.set.name, "failed")
			if failing.IsZero() {
				failing = time.Now()
			}
			after = min(backoff(failures), l.set.ttl/10)
			failures++
		}
	}
}

// renew extends the lease once. When Redis answers that the lock is no longer
// ours, the lock is lost; every other failure may be retried.
func (l *Lock) renew() error {
	ctx, cancel := context.WithTimeout(l.ctx, l.Remaining())
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	sent := l.c.clock.now()
	a := l.c.ask(ctx, callTimeout(l.set.ttl), renewScript,
		[]string{l.set.keys.lock(l.resource)}, string(l.Stamp().Owner), l.set.ttl.Milliseconds())
	switch {
	case a.err != nil:
		l.mu.Lock()
		l.renewErr = a.err
		l.mu.Unlock()
		return a.err
	case a.status == statusOK:
		l.extend(sent)
		return nil
	case a.status == statusMissing:
		return l.lose(Expired, errKeyGone)
	default:
		return l.lose(Stolen, nil)
	}
}

// extend notes that Redis has counted a new TTL from a call sent then.
func (l *Lock) extend(sent instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease = newLease(sent, l.set.ttl)
	l.renewErr = nil
}
