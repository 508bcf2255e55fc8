package proxy

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// refusals writes one log record per refusal. A client that repeats itself
// would fill the log, so what is refused again for the same cause within a
// window is counted, and told in one record at the window's end. Strangers can
// make up as many causes as they like, so what comes too fast is only counted,
// by reason.
type refusals struct {
	log    *slog.Logger
	window time.Duration

	mu      sync.Mutex
	repeats map[cause]*repeat
	closed  bool
	second  time.Time      // when the current second began
	told    int            // records of first refusals in it
	untold  map[string]int // refusals without a record, by reason
	tellAll *time.Timer    // at the end of the second, nil if all are told
}

// cause is what repeated refusals have in common.
type cause struct{ reason, resource, client string }

type repeat struct {
	count int
	last  []slog.Attr
	timer *time.Timer
}

const (
	// maxCauses bounds the memory for causes. Beyond it repeats are not seen.
	maxCauses = 2_000
	// maxTold is how many refusals have a record of their own in a second.
	maxTold = 200
)

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, window: 10 * time.Second, repeats: make(map[cause]*repeat), untold: make(map[string]int)}
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
	if l.tooFast() {
		l.untold[c.reason]++
		if l.tellAll == nil {
			l.tellAll = time.AfterFunc(time.Second-time.Since(l.second), l.endSecond)
		}
		return
	}
	l.log.LogAttrs(context.Background(), slog.LevelWarn, "refused", attrs...)
	if len(l.repeats) < maxCauses && !l.closed {
		l.repeats[c] = &repeat{timer: time.AfterFunc(l.window, func() { l.end(c) })}
	}
}

// tooFast reports whether this second has had its records, and counts one if not.
func (l *refusals) tooFast() bool {
	if now := time.Now(); now.Sub(l.second) >= time.Second {
		l.second, l.told = now, 0
	}
	if l.told >= maxTold && !l.closed {
		return true
	}
	l.told++
	return false
}

func (l *refusals) endSecond() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellUntold()
}

// tellUntold sums up what had no record.
func (l *refusals) tellUntold() {
	if l.tellAll == nil {
		return
	}
	l.tellAll.Stop()
	l.tellAll = nil
	var counts []any
	for _, reason := range slices.Sorted(maps.Keys(l.untold)) {
		counts = append(counts, slog.Int(reason, l.untold[reason]))
	}
	clear(l.untold)
	l.log.LogAttrs(context.Background(), slog.LevelWarn, "refused too often to tell each", slog.Group("counts", counts...))
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
	l.tellUntold()
	for c, r := range l.repeats {
		r.timer.Stop()
		if r.count > 0 {
			l.tell(r)
		}
		delete(l.repeats, c)
	}
}
