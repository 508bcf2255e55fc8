package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"

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
