package lockclient

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what locks go through. Each metric has the label "name" from
// WithName. A nil *Metrics counts nothing. What they mean, and when to act
// (all begin with fencegate_lock_):
//
//   - wait_seconds{result}: from asking for a lock to having it or giving up. Act
//     when acquired ones near WithMaxWait: holders are slow, or too many want one
//     name.
//   - acquire_failures_total{reason}: held, redis, fence, fenced, tokens, refused,
//     lost, closed. held is contention; act on any other that does not stop, on
//     tokens at once.
//   - hold_seconds: from acquiring to releasing. Act when it nears what others are
//     ready to wait; bound it with WithMaxHold.
//   - lease_expired_total: leases of earlier holders, of any process, that had run
//     out when the lock was next acquired: it is the next holder who counts, since a
//     crashed one cannot. Act when it rises: holders crash or are paused, and only
//     the fence keeps their late writes out.
//   - renewals_total{result}: ok or failed. Single failures are harmless; act when
//     failed keeps up with ok.
//   - release_mismatch_total: locks that were no longer held when they were
//     released. Act on each: work was done that may not have been alone.
//   - redis_unavailable_seconds_total: how long held locks could not be renewed.
//     Act when it grows by more than a third of a TTL at a time.
type Metrics struct {
	wait       *prometheus.HistogramVec
	failures   *prometheus.CounterVec
	hold       *prometheus.HistogramVec
	expired    *prometheus.CounterVec
	renewals   *prometheus.CounterVec
	mismatches *prometheus.CounterVec
	down       *prometheus.CounterVec
}

// NewMetrics registers the metrics with reg; nil registers them nowhere. It
// panics if they are registered there already, as prometheus.MustRegister does.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "fencegate", Subsystem: "lock", Name: name, Help: help},
			append([]string{"name"}, labels...))
		register(reg, v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "fencegate", Subsystem: "lock", Name: name, Help: help, Buckets: buckets},
			append([]string{"name"}, labels...))
		register(reg, v)
		return v
	}
	return &Metrics{
		wait: histogram("wait_seconds", "Time from asking for a lock to its being usable or given up, the claim included.",
			prometheus.ExponentialBuckets(0.001, 4, 9), "result"),
		failures: counter("acquire_failures_total", "Locks that were not acquired.", "reason"),
		hold: histogram("hold_seconds", "Time from acquiring a lock to releasing it.",
			prometheus.ExponentialBuckets(0.01, 4, 9)),
		expired:    counter("lease_expired_total", "Leases of earlier holders that had run out, found by the next holder."),
		renewals:   counter("renewals_total", "Renewals by result; a failed one is tried again.", "result"),
		mismatches: counter("release_mismatch_total", "Locks that were no longer held when they were released."),
		down:       counter("redis_unavailable_seconds_total", "Time during which held locks could not be renewed, summed over locks."),
	}
}

func register(reg prometheus.Registerer, c prometheus.Collector) {
	if reg != nil {
		reg.MustRegister(c)
	}
}

func (m *Metrics) acquired(name string, begin time.Time, err error) {
	if m == nil {
		return
	}
	result := "acquired"
	if err != nil {
		result = "failed"
		m.failures.WithLabelValues(name, failure(err)).Inc()
	}
	m.wait.WithLabelValues(name, result).Observe(time.Since(begin).Seconds())
}

// failure is a closed list of words for why an acquisition failed.
func failure(err error) string {
	var fenced *FencedError
	var refused *ClaimError
	var gap *TokenGapError
	switch {
	case errors.Is(err, ErrClosed):
		return "closed"
	case errors.Is(err, ErrTokenExhausted), errors.Is(err, ErrCounter), errors.As(err, &gap):
		return "tokens"
	case errors.As(err, &fenced):
		return "fenced"
	case errors.As(err, &refused):
		return "refused"
	case errors.Is(err, ErrFenceUnreachable):
		return "fence"
	case errors.Is(err, ErrLost):
		return "lost"
	case errors.Is(err, ErrNotAcquired):
		return "held"
	default:
		return "redis"
	}
}

func (m *Metrics) held(name string, since time.Time) {
	if m != nil {
		m.hold.WithLabelValues(name).Observe(time.Since(since).Seconds())
	}
}

func (m *Metrics) expiredBefore(name string) {
	if m != nil {
		m.expired.WithLabelValues(name).Inc()
	}
}

func (m *Metrics) renewed(name, result string) {
	if m != nil {
		m.renewals.WithLabelValues(name, result).Inc()
	}
}

func (m *Metrics) mismatch(name string) {
	if m != nil {
		m.mismatches.WithLabelValues(name).Inc()
	}
}

func (m *Metrics) unavailable(name string, d time.Duration) {
	if m != nil {
		m.down.WithLabelValues(name).Add(d.Seconds())
	}
}
