package proxy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/fence"
)

// Metrics of a proxy and its gate. Their labels are bounded: never a path,
// token, owner, host or a method as the client sent it.
type Metrics struct {
	requests   *prometheus.CounterVec
	rejections *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	gateWait   prometheus.Histogram
	uncertain  prometheus.Counter
	upstream   *prometheus.HistogramVec
	raise      prometheus.Histogram
	batch      prometheus.Histogram
	commits    *prometheus.CounterVec
	reg        prometheus.Registerer

	// Those of the vectors that every request needs, found once.
	counted   [len(operations)][len(decisions)]prometheus.Counter
	durations [len(operations)]prometheus.Observer
	outcomes  map[fence.Outcome]prometheus.Observer
}

// operation is what the operation label says.
type operation uint8

const (
	opRead operation = iota
	opAsk
	opWrite
	opMkcol
	opClaim
	opMarks
	opNone // refused before it was known
)

var operations = [...]string{opRead: "read", opAsk: "ask", opWrite: "write", opMkcol: "mkcol", opClaim: "claim", opMarks: "marks", opNone: "none"}

// decision is what the decision label says.
type decision uint8

const (
	decisionPassed   decision = iota
	decisionObserved          // passed, but would be refused under an enforced policy
	decisionAdopted           // passed without a token, which policy require would refuse
	decisionRefused
	decisionUnknown // may or may not have taken effect
)

var decisions = [...]string{
	decisionPassed: "passed", decisionObserved: "observed", decisionAdopted: "adopted", decisionRefused: "refused", decisionUnknown: "unknown",
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	seconds := prometheus.ExponentialBuckets(0.0001, 4, 11) // 0.1 ms … 105 s
	m := &Metrics{
		reg: reg,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fencegate_requests_total", Help: "Requests by what they do and what became of them.",
		}, []string{"operation", "decision"}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fencegate_rejections_total", Help: "Requests that fencegate itself refused or could not complete, by reason. stale_token counts writes of holders whose lock had passed on.",
		}, []string{"route", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fencegate_request_duration_seconds", Help: "Time from a request's head to the end of its answer.", Buckets: seconds,
		}, []string{"operation"}),
		gateWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fencegate_gate_wait_seconds", Help: "Time a complete request waited for its turn.", Buckets: seconds,
		}),
		uncertain: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fencegate_uncertain_total", Help: "Writes sent to the store without a definite answer.",
		}),
		upstream: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fencegate_upstream_duration_seconds", Help: "Time that a write took at the store, by what is known of its outcome.", Buckets: seconds,
		}, []string{"outcome"}),
		raise: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fencegate_raise_duration_seconds", Help: "Time of one ledger commit.", Buckets: seconds,
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fencegate_raise_batch_size", Help: "Rows per ledger commit.", Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fencegate_ledger_commits_total", Help: "Ledger commits by result; full is tried again, failed stops all protected requests.",
		}, []string{"result"}),
	}
	reg.MustRegister(m.requests, m.rejections, m.duration, m.gateWait, m.uncertain, m.upstream, m.raise, m.batch, m.commits)
	m.outcomes = map[fence.Outcome]prometheus.Observer{}
	for _, o := range []fence.Outcome{fence.NotSent, fence.Definite, fence.Uncertain} {
		m.outcomes[o] = m.upstream.WithLabelValues(o.String())
	}
	for _, result := range []string{"ok", "full", "failed"} {
		m.commits.WithLabelValues(result)
	}
	for i, op := range operations {
		for j, d := range decisions {
			m.counted[i][j] = m.requests.WithLabelValues(op, d)
		}
		m.durations[i] = m.duration.WithLabelValues(op)
	}
	return m
}

// Committed is fence.Options.OnCommit.
func (m *Metrics) Committed(rows int, took time.Duration, err error) {
	m.raise.Observe(took.Seconds())
	m.batch.Observe(float64(rows))
	m.commits.WithLabelValues(commitResult(err)).Inc()
}

// watch registers what is read from a running proxy, and starts every counter
// of refusals at 0 so that the first one shows as a rise.
func (m *Metrics) watch(p *Proxy) {
	gauge := func(name, help string, f func(fence.State) float64) {
		m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return f(p.gate.State()) }))
	}
	gauge("fencegate_inflight_writes", "Writes that may be at the store now.", func(s fence.State) float64 { return float64(s.Begun) })
	gauge("fencegate_waiting_requests", "Requests that have not begun.", func(s fence.State) float64 { return float64(s.Waiting) })
	gauge("fencegate_settling_entries", "Writes without a definite answer that may still take effect.", func(s fence.State) float64 { return float64(s.Settling) })
	gauge("fencegate_ledger_failed", "1 when the ledger has failed: all protected requests get 503 until a restart.", func(s fence.State) float64 { return oneIf(s.Failed != nil) })
	gauge("fencegate_recovering", "1 while everything is held back after an unclean start.", func(s fence.State) float64 { return oneIf(s.Recovering) })
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fencegate_spool_bytes", Help: "Bytes of bodies received and not yet stored.",
	}, func() float64 { return float64(p.budget.used.Load()) }))

	policies := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fencegate_route_policy", Help: "1 for the policy that a route has.",
	}, []string{"route", "policy"})
	m.reg.MustRegister(policies)
	m.startAtZero(noRoute)
	for _, route := range p.routes {
		policies.WithLabelValues(route.Name, route.Policy.String()).Set(1)
		m.startAtZero(route.Name)
	}
}

func (m *Metrics) startAtZero(route string) {
	for reason := range answers {
		m.rejections.WithLabelValues(route, string(reason))
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
