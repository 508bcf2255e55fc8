package torture

import (
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"fencegate/integration/harness"
)

// A trap kills fencegate when it has just sent the store a write, at the moments
// that are hardest to get over.
type trap struct {
	any    bool // any put, not only the first that was heard of a token
	plan   func(random *rand.Rand) harness.Plan
	sprung chan struct{}
}

// atFirstEffect kills when a token that was never claimed has its first effect:
// its mark must be on disk by then.
func atFirstEffect(kill func()) *trap {
	t := &trap{sprung: make(chan struct{})}
	spring := sync.OnceFunc(func() { kill(); close(t.sprung) })
	t.plan = func(*rand.Rand) harness.Plan { return harness.Plan{Then: spring} }
	return t
}

// beforeLateEffect kills while a write is under way that takes effect when the
// settle time is nearly over: the next run must wait for it.
func beforeLateEffect(kill func()) *trap {
	t := &trap{any: true, sprung: make(chan struct{})}
	spring := sync.OnceFunc(func() { kill(); close(t.sprung) })
	t.plan = func(random *rand.Rand) harness.Plan {
		time.AfterFunc(time.Millisecond, spring) // when the body is likely to have come
		return harness.Plan{UntilGone: true, Delay: settle/2 + upTo(random, settle/2)}
	}
	return t
}

// springs waits for a while that a trap kills fencegate.
func (w *world) springs(t *trap) bool {
	w.plans.set(t)
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-t.sprung:
		return true
	case <-patience.C:
	}
	if w.plans.set(nil) == t {
		return false
	}
	<-t.sprung // it has caught a write just now, and springs or is about to
	return true
}

// killer kills what is running now.
func (w *world) killer() func() {
	pid := w.fence.Process().PID()
	return func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }
}

// set sets a trap and returns the one before.
func (w *weather) set(t *trap) *trap {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.trap
	w.trap = t
	return was
}
