package harness

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are all metrics as they were at one moment.
type Metrics struct {
	t        testing.TB
	families map[string]*dto.MetricFamily
}

// Metrics reads /metrics.
func (s *Server) Metrics() Metrics {
	s.t.Helper()
	status, body, err := s.ask("/metrics")
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("/metrics answers %d: %v\n%s", status, err, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		s.t.Fatalf("/metrics is not in the text format: %v", err)
	}
	return Metrics{s.t, families}
}

// Counter returns the sum of all counters of this name that have the given
// labels, each written "name=value"; of a histogram, how many observations.
// None with these values is 0, but a name or label that is not served at all
// ends the test: a misspelt one must not pass for "never happened".
func (m Metrics) Counter(name string, labels ...string) float64 {
	m.t.Helper()
	return m.sum(name, labels, dto.MetricType_COUNTER, dto.MetricType_HISTOGRAM)
}

// Gauge is Counter for gauges.
func (m Metrics) Gauge(name string, labels ...string) float64 {
	m.t.Helper()
	return m.sum(name, labels, dto.MetricType_GAUGE)
}

func (m Metrics) sum(name string, labels []string, types ...dto.MetricType) float64 {
	m.t.Helper()
	family := m.families[name]
	if family == nil || !slices.Contains(types, family.GetType()) {
		m.t.Fatalf("no metric %s among types %v, got %v", name, types, family)
	}
	var sum float64
	for _, metric := range family.GetMetric() {
		if m.has(metric, labels) {
			sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

func (m Metrics) has(metric *dto.Metric, labels []string) bool {
	m.t.Helper()
	for _, label := range labels {
		name, value, _ := strings.Cut(label, "=")
		i := slices.IndexFunc(metric.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name })
		if i < 0 {
			m.t.Fatalf("no label %q in %v", name, metric)
		}
		if metric.GetLabel()[i].GetValue() != value {
			return false
		}
	}
	return true
}

// admin is a client of its own for each question: a kept connection would
// bind a test to a run that is gone.
var admin = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true},
	Timeout:   Patience,
}

// ask sends a GET to the admin listener.
func (s *Server) ask(path string) (status int, body string, err error) {
	resp, err := admin.Get(s.AdminURL() + path)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
