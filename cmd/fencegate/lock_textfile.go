package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// addMetrics adds what this run has counted to what the runs before it have
// left in file, so that counters go on rising. Runs that end together take
// turns; readers see the file whole.
func addMetrics(file string, run prometheus.Gatherer) error {
	gathered, err := run.Gather()
	if err != nil {
		return err
	}
	turn, err := takeTurn(file + ".lock")
	if err != nil {
		return err
	}
	defer turn.Close() // and so gives the turn up
	families, err := readMetrics(file)
	if err != nil {
		return err
	}
	for _, f := range gathered {
		sumUp(f, families[f.GetName()])
		families[f.GetName()] = f
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if _, err := expfmt.MetricFamilyToText(&text, families[name]); err != nil {
			return err
		}
	}
	return replaceFile(file, text.Bytes())
}

// turnPatience bounds the wait for other runs: one that is stopped while it
// saves must not keep all jobs from ending.
const turnPatience = 5 * time.Second

// takeTurn opens a file that one process has at a time.
func takeTurn(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(turnPatience); ; time.Sleep(10 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR || time.Now().After(deadline) {
			_ = f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// readMetrics returns the lock's families in file, by name; none if it is not
// there, or holds something else, as after a full disk.
func readMetrics(file string) (map[string]*dto.MetricFamily, error) {
	none := map[string]*dto.MetricFamily{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return none, nil //nolint:nilerr // it is only metrics
	}
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool {
		return !strings.HasPrefix(name, "fencegate_lock_")
	})
	return families, nil
}

// sumUp adds before to f. What another version has written, of another type or
// with other buckets, is left out.
func sumUp(f, before *dto.MetricFamily) {
	if before.GetType() != f.GetType() {
		return
	}
	known := map[string]*dto.Metric{}
	for _, m := range f.Metric {
		known[labelsOf(m)] = m
	}
	for _, old := range before.GetMetric() {
		m := known[labelsOf(old)]
		switch {
		case m == nil:
			f.Metric = append(f.Metric, old)
		case m.Counter != nil:
			*m.Counter.Value += old.GetCounter().GetValue()
			m.Counter.CreatedTimestamp = nil
		case m.Histogram != nil:
			addBuckets(m.Histogram, old.GetHistogram())
		}
	}
}

// addBuckets adds before to h. Of the two only one may list +Inf, which is the
// count.
func addBuckets(h, before *dto.Histogram) {
	was := map[float64]uint64{}
	for _, b := range before.GetBucket() {
		was[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	for _, b := range h.Bucket {
		if _, same := was[b.GetUpperBound()]; !same {
			return
		}
	}
	*h.SampleCount += before.GetSampleCount()
	*h.SampleSum += before.GetSampleSum()
	for _, b := range h.Bucket {
		*b.CumulativeCount += was[b.GetUpperBound()]
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
