package proxy

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// refusals writes one log record per refusal. A client that repeats itself
// would fill the log, so what is refused again for the same cause within a
// window is counted, and told in one record at the window's end.
type refusals struct {
	log    *slog.Logger
	window time.Duration

	mu      sync.Mutex
	repeats map[cause]*repeat
	closed  bool
}

// cause is what repeated refusals have in common.
type cause struct{ reason, resource, client string }

type repeat struct {
	count int
	last  []slog.Attr
	timer *time.Timer
}

// maxCauses bounds the memory for causes. Beyond it every refusal is logged.
const maxCauses = 10_000

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, window: 10 * time.Second, repeats: make(map[cause]*repeat)}
}

// add logs a refusal, or counts it as a repeat.
func (l *refusals) add(c cause, attrs []slog.Attr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.repeats[c]; ok {
		r.count++
		r.last = attrs
		return
	}
	l.log.LogAttrs(context.Background(), slog.LevelWarn, "refused", attrs...)
	if len(l.repeats) < maxCauses && !l.closed {
		l.repeats[c] = &repeat{timer: time.AfterFunc(l.window, func() { l.end(c) })}
	}
}

// end closes a window. One with repeats is followed by another.
func (l *refusals) end(c cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.repeats[c]
	if r == nil {
		return
	}
	if r.count == 0 {
		delete(l.repeats, c)
		return
	}
	l.tell(r)
	r.timer.Reset(l.window)
}

func (l *refusals) tell(r *repeat) {
	l.log.LogAttrs(context.Background(), slog.LevelWarn, "refused again", append(r.last, slog.Int("repeats", r.count))...)
	r.count = 0
}

// close tells what is left.
func (l *refusals) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for c, r := range l.repeats {
		r.timer.Stop()
		if r.count > 0 {
			l.tell(r)
		}
		delete(l.repeats, c)
	}
}
