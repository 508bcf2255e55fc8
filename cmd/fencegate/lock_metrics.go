package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fencegate/lockclient"
)

var metricsName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

func (c *lockCmd) checkMetrics() error {
	if !metricsName.MatchString(c.Name) {
		return fmt.Errorf("--name %q: expected [a-z][a-z0-9_-]*, at most 64 characters", c.Name)
	}
	if c.Metrics == "" {
		return nil
	}
	if info, err := os.Stat(c.Metrics); err != nil || !info.IsDir() {
		return fmt.Errorf("--metrics-textfile %q: expected a directory that is there", c.Metrics)
	}
	return nil
}

// metrics returns what the lock's metrics are counted in, and what saves them.
// A job must not fail for its metrics, so saving only tells what went wrong.
func (c *lockCmd) metrics(std streams) (m *lockclient.Metrics, save func()) {
	if c.Metrics == "" {
		return nil, func() {}
	}
	registry := prometheus.NewRegistry()
	m = lockclient.NewMetrics(registry)
	file := filepath.Join(c.Metrics, "fencegate_lock_"+c.Name+".prom")
	return m, func() {
		if err := addMetrics(file, registry); err != nil {
			fmt.Fprintln(std.err, "fencegate: warning: the metrics were not saved:", err)
		}
	}
}

// addMetrics adds what this run has counted to what the runs before it have
// left in file, so that counters go on rising. Runs that end together take
// turns; readers see the file whole.
func addMetrics(file string, run prometheus.Gatherer) error {
	families, err := run.Gather()
	if err != nil {
		return err
	}
	turn, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer turn.Close() // and so gives the turn up
	if err := syscall.Flock(int(turn.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	before, err := readMetrics(file)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, f := range families {
		sumUp(f, before[f.GetName()])
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return err
		}
	}
	return replaceFile(file, text.Bytes())
}

// readMetrics returns the families in file; none if it is not there, or holds
// something else, as after a full disk.
func readMetrics(file string) (map[string]*dto.MetricFamily, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, nil //nolint:nilerr // it is only metrics
	}
	return families, nil
}

// sumUp adds before to f, which has the same labels and buckets unless another
// version has written it; then that is left out.
func sumUp(f, before *dto.MetricFamily) {
	known := map[string]*dto.Metric{}
	for _, m := range f.Metric {
		known[labelsOf(m)] = m
	}
	for _, old := range before.GetMetric() {
		m := known[labelsOf(old)]
		switch {
		case before.GetType() != f.GetType():
		case m == nil:
			f.Metric = append(f.Metric, old)
		case m.Counter != nil:
			*m.Counter.Value += old.GetCounter().GetValue()
		case m.Histogram != nil && len(m.Histogram.Bucket) <= len(old.GetHistogram().GetBucket()):
			h, o := m.Histogram, old.GetHistogram()
			*h.SampleCount += o.GetSampleCount()
			*h.SampleSum += o.GetSampleSum()
			for i, b := range h.Bucket {
				*b.CumulativeCount += o.Bucket[i].GetCumulativeCount()
			}
		}
	}
}

func labelsOf(m *dto.Metric) string {
	var key []byte
	for _, l := range m.Label {
		key = fmt.Appendf(key, "%q=%q ", l.GetName(), l.GetValue())
	}
	return string(key)
}

// replaceFile writes a file so that nobody sees half of it.
func replaceFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".fencegate-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
