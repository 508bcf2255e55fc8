package lockclient

import (
	"context"
	"time"
)

// keepTick is how often the keeper looks at the clock at least. Timers stand
// still while the machine is suspended, so that one set for the deadline would
// fire late by that much.
const keepTick = time.Second

// keep renews the lease until it is released or lost, or WithMaxHold is
// reached. It never waits for Redis beyond the local deadline.
func (s *shared) keep() {
	defer s.kept.Done()
	ctx := s.Context()
	metrics := s.set.metrics
	var failing time.Time // since when renewals fail
	defer func() {
		if !failing.IsZero() {
			metrics.unavailable(s.set.name, time.Since(failing))
		}
	}()
	// The next renewal is due when after has passed since from.
	s.mu.Lock()
	from := s.lease.sent
	s.mu.Unlock()
	after, failures := renewAfter(s.set.ttl), 0
	for s.check() == nil {
		now := s.c.clock.now()
		wait := after - now.since(from)
		if s.final() {
			wait = keepTick
		}
		if wait > 0 {
			if !pause(ctx, min(wait, s.Remaining(), keepTick)) {
				return
			}
			continue
		}
		err := s.renew()
		from = s.c.clock.now()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			metrics.renewed(s.set.name, "ok")
			if !failing.IsZero() {
				metrics.unavailable(s.set.name, time.Since(failing))
				failing = time.Time{}
			}
			after, failures = renewAfter(s.set.ttl), 0
		default:
			metrics.renewed(s.set.name, "failed")
			if failing.IsZero() {
				failing = time.Now()
			}
			after = min(backoff(failures), s.set.ttl/10)
			failures++
		}
	}
}

// renew extends the lease once. When Redis answers that the lock is no longer
// ours, the lock is lost; every other failure may be retried.
func (s *shared) renew() error {
	ctx, cancel := context.WithTimeout(s.Context(), s.Remaining())
	defer cancel()
	turn := s.turns()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ttl, last := s.term()
	s.mu.Lock()
	owner, at := s.stamp.Owner, s.at
	s.mu.Unlock()
	a := s.c.nodes.renew(ctx, callTimeout(s.set.ttl), s.set.request(owner, ttl), at)
	switch {
	case a.err != nil:
		s.mu.Lock()
		s.renewErr = a.err
		s.mu.Unlock()
		return a.err
	case a.status == statusOK:
		s.extend(newLease(a.sent, ttl), last)
		return nil
	case a.status == statusMissing:
		return s.lose(Expired, s.keyGone(a.value))
	default:
		return s.lose(Stolen, nil)
	}
}

// term returns the TTL to ask for now, and whether it is what WithMaxHold has
// left: Redis then frees the lock at about the time at which the lease ends here.
func (s *shared) term() (ttl time.Duration, last bool) {
	if s.set.maxHold == 0 {
		return s.set.ttl, false
	}
	left := s.set.maxHold - s.c.clock.now().since(s.begun)
	if left > s.set.ttl {
		return s.set.ttl, false
	}
	return max(left, time.Millisecond), true
}

// final reports that no renewal is to come.
func (s *shared) final() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// extend notes what Redis has agreed to.
func (s *shared) extend(le lease, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease, s.last = le, last
	s.renewErr = nil
}
