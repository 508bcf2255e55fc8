package lockclient

import (
	"context"
	"sync/atomic"
	"time"
)

// bounds makes the contexts of calls to Redis that nobody cancels. Calls that
// begin at about the same time share a deadline: a timer for each would cost more
// than all else that a call takes here.
type bounds struct{ last atomic.Pointer[bound] }

type bound struct {
	ctx     context.Context
	timeout time.Duration
	until   time.Time // calls that begin later get another
}

// within returns a context with the values of caller that ends after timeout, or
// up to a sixteenth before.
func (b *bounds) within(caller context.Context, timeout time.Duration) context.Context {
	now := time.Now()
	last := b.last.Load()
	if last == nil || last.timeout != timeout || now.After(last.until) {
		// Others may be in use of it until its end, which frees it.
		ctx, cancel := context.WithDeadline(context.Background(), now.Add(timeout))
		context.AfterFunc(ctx, cancel)
		last = &bound{ctx, timeout, now.Add(timeout / 16)}
		b.last.Store(last)
	}
	if caller == context.Background() {
		return last.ctx
	}
	return valued{last.ctx, caller}
}

// valued is a context with another's values.
type valued struct {
	context.Context
	values context.Context
}

func (v valued) Value(key any) any {
	if got := v.values.Value(key); got != nil {
		return got
	}
	return v.Context.Value(key)
}
