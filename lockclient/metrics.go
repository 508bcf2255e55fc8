package lockclient

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what locks go through. Each metric has the label "name" from
// WithName. A nil *Metrics counts nothing.
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
		expired:    counter("lease_expired_total", "Leases that ended before they were released, for whatever reason."),
		renewals:   counter("renewals_total", "Renewals by result; a failed one is tried again.", "result"),
		mismatches: counter("release_mismatch_total", "Releases of locks that Redis no longer knew as ours."),
		down:       counter("redis_unavailable_seconds_total", "Time during which held locks could not be renewed, summed over locks."),
	}
}

func register(reg prometheus.Registerer, c prometheus.Collector) {
	if reg != nil {
		reg.MustRegister(c)
	}
}

func (m *Metrics) acquired(name string, took time.Duration, err error) {
	if m == nil {
		return
	}
	result := "acquired"
	if err != nil {
		result = "failed"
		m.failures.WithLabelValues(name, failure(err)).Inc()
	}
	m.wait.WithLabelValues(name, result).Observe(took.Seconds())
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

func (m *Metrics) held(name string, d time.Duration) {
	if m != nil {
		m.hold.WithLabelValues(name).Observe(d.Seconds())
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
