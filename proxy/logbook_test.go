package proxy

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
)

// logbook keeps what was logged.
type logbook struct {
	mu      sync.Mutex
	written strings.Builder
}

// Write implements io.Writer, one record a call.
func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.Write(line)
}

func (l *logbook) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.String()
}

// refused returns the records with that message and reason.
func (l *logbook) refused(message, reason string) []map[string]any {
	var out []map[string]any
	for line := range strings.Lines(l.text()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			panic(fmt.Sprintf("a log record is no JSON: %v: %s", err, line))
		}
		if record["msg"] == message && record["reason"] == reason {
			out = append(out, record)
		}
	}
	return out
}

// each calls f for every series of the world's metrics, with its name and
// labels as in "name{label=value}".
func (w *world) each(f func(series string, m *dto.Metric)) {
	families, err := w.reg.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			series := family.GetName()
			if len(labels) > 0 {
				series += "{" + strings.Join(labels, ",") + "}"
			}
			f(series, m)
		}
	}
}

// gauge returns the value of a gauge or counter, −1 if there is none.
func (w *world) gauge(series string) float64 {
	value := -1.0
	w.each(func(s string, m *dto.Metric) {
		if s != series {
			return
		}
		switch {
		case m.Gauge != nil:
			value = m.Gauge.GetValue()
		case m.Counter != nil:
			value = m.Counter.GetValue()
		}
	})
	return value
}

func (w *world) metricsText() string {
	var b strings.Builder
	w.each(func(series string, m *dto.Metric) { b.WriteString(series + " " + m.String() + "\n") })
	return b.String()
}
