package proxy

import (
	"context"
	"sync"
	"time"
)

// attempt is the context of one attempt at a write: it ends by its deadline
// alone, since a write that has begun no longer depends on its client. A store
// that can watch the clock by itself needs no timer for it, and no goroutine.
type attempt struct {
	context.Context // Background, for its values
	end             time.Time

	mu     sync.Mutex
	timed  context.Context // with a timer; nil as long as nobody asked for Done
	cancel context.CancelFunc
}

// start begins an attempt.
func (a *attempt) start(now time.Time, patience time.Duration) {
	a.Context, a.end = context.Background(), now.Add(patience)
}

// asked reports whether somebody has waited for its end.
func (a *attempt) asked() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.timed != nil
}

// EndsByDeadline tells stores that there is no other end.
func (a *attempt) EndsByDeadline() {}

// Deadline implements context.Context.
func (a *attempt) Deadline() (time.Time, bool) { return a.end, true }

// Done implements context.Context, with a timer from the first call on.
func (a *attempt) Done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timed == nil {
		a.timed, a.cancel = context.WithDeadline(context.Background(), a.end)
	}
	return a.timed.Done()
}

// Err implements context.Context. It goes by the clock, so that it knows of the
// end when the socket does; and once there is a timer it agrees with Done, also
// after free: what was derived from the context may still look.
func (a *attempt) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timed != nil && a.timed.Err() != nil {
		return a.timed.Err()
	}
	if time.Now().Before(a.end) {
		return nil
	}
	return context.DeadlineExceeded
}

// free ends the timer, if there is one. The attempt is over.
func (a *attempt) free() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil {
		a.cancel()
	}
}
