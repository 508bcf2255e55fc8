package lockclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// manyLanes is how many calls are under way at once while Redis is near:
	// with a second one it always has work.
	manyLanes = 2
	// laneQuiet is the time without an answer after which Redis is not near, and
	// a call does not wait for others.
	laneQuiet = time.Millisecond
	// maxTogether bounds what is sent at once: Redis serves nobody else meanwhile.
	maxTogether = 64
)

// lanes sends the acquisitions and releases of a client to one Redis. Calls that
// come while others are under way wait for one of these to be answered and are
// then sent together, in one pipeline, by the first of them: under load most of
// what a call costs on both sides is the reading and writing of sockets.
type lanes struct {
	n    *node
	most int // calls under way at once, even to a Redis that is far: connections

	mu    sync.Mutex
	busy  int
	last  time.Time // when a call was last begun or answered
	queue []*queued
}

// queued is a call that waits to be sent. Its flags and batch are guarded by
// lanes.mu; batch and a may be read by whom told has told.
type queued struct {
	invocation
	timeout time.Duration
	told    chan struct{} // has a value when batch or a is set
	batch   []*queued     // what this one is to send, itself first
	gone    bool          // nobody waits for the answer
	sent    bool          // or is about to be
	a       answer
}

// do runs a script until ctx ends, which does so by its deadline only, timeout
// from now or a little earlier.
func (l *lanes) do(ctx context.Context, timeout time.Duration, v invocation) answer {
	now := time.Now()
	l.mu.Lock()
	if l.busy < manyLanes && len(l.queue) == 0 || l.busy < l.most && now.Sub(l.last) > laneQuiet {
		l.busy++
		l.last = now
		l.mu.Unlock()
		defer l.next()
		return l.n.bound(ctx, timeout, v)
	}
	q := &queued{invocation: v, timeout: timeout, told: make(chan struct{}, 1)}
	l.queue = append(l.queue, q)
	l.mu.Unlock()
	select {
	case <-q.told:
	case <-ctx.Done():
		return answer{err: fmt.Errorf("%w within %v", ErrRedisUnreachable, timeout), unsent: l.quit(q)}
	}
	if q.batch != nil {
		defer l.next()
		l.send(ctx, timeout, q.batch)
	}
	return q.a
}

// next lets those who wait send theirs, in place of a call that is over.
func (l *lanes) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	for len(l.queue) > 0 {
		// Those with the timeout of the first, which so is as good as their own.
		n := 1
		for n < len(l.queue) && n < maxTogether && l.queue[n].timeout == l.queue[0].timeout {
			n++
		}
		batch := l.queue[:n:n]
		l.queue = l.queue[n:]
		if lead(batch) {
			return
		}
	}
	l.queue = nil
	l.busy--
}

// lead has the first of a batch that still waits send it.
func lead(batch []*queued) bool {
	for i, q := range batch {
		if !q.gone {
			q.batch = batch[i:]
			q.told <- struct{}{}
			return true
		}
	}
	return false
}

// quit takes out a call whose time is over. If it was to send others', the next
// of them does, or those that wait behind. It reports that the call was not sent
// and is not going to be.
func (l *lanes) quit(q *queued) (unsent bool) {
	l.mu.Lock()
	q.gone, unsent = true, !q.sent
	batch := q.batch
	q.batch = nil
	handed := batch == nil || lead(batch)
	l.mu.Unlock()
	if !handed {
		l.next()
	}
	return unsent
}

// send sends the calls of a batch in one pipeline and tells their answers.
func (l *lanes) send(ctx context.Context, timeout time.Duration, batch []*queued) {
	l.mu.Lock()
	wanted := batch[:0]
	for _, q := range batch {
		if !q.gone {
			q.sent = true
			wanted = append(wanted, q)
		}
	}
	l.mu.Unlock()
	if len(wanted) == 1 {
		wanted[0].a = l.n.bound(ctx, timeout, wanted[0].invocation)
		return
	}
	pipe := l.n.rdb.Pipeline()
	cmds := make([]*redis.StringSliceCmd, len(wanted))
	for i, q := range wanted {
		cmds[i] = q.command(ctx)
		_ = pipe.Process(ctx, cmds[i])
	}
	_, _ = pipe.Exec(ctx) // each has its error
	for i, q := range wanted {
		got, err := cmds[i].Result()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			got, err = q.whole(ctx, l.n.rdb)
		}
		q.a = l.n.inTime(ctx, timeout, l.n.answer(ctx, got, err))
		if i > 0 {
			q.told <- struct{}{}
		}
	}
}
