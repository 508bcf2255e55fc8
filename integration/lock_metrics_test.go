package integration

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fencegate/integration/harness"
)

// textfile reads a file as node_exporter does, after a linter.
func textfile(t testing.TB, name string) map[string]*dto.MetricFamily {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(strings.NewReader(string(text))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the linter says %v, %v", problems, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return families
}

// observed returns how many times a family has counted with a label.
func observed(families map[string]*dto.MetricFamily, name, label string) (sum float64) {
	for _, m := range families[name].GetMetric() {
		has := label == ""
		for _, l := range m.GetLabel() {
			has = has || l.GetName()+"="+l.GetValue() == label
		}
		if has {
			sum += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

// Counters go on rising over the runs of a job, also those of kinds that a later
// run does not see, and of runs that end together.
func TestLockKeepsItsMetrics(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "fencegate_lock_nightly.prom")
	run := func(code int, flags ...string) {
		t.Helper()
		p := harness.Start(t, "lock", s.lockCommand(append([]string{"--metrics-textfile", dir, "--name", "nightly"}, flags...)...))
		wantCode(t, p, code)
	}
	run(0, "--ttl", "300ms", "--", "sleep", "0.5")
	first := textfile(t, name)
	if observed(first, "fencegate_lock_renewals_total", "") < 1 || observed(first, "fencegate_lock_hold_seconds", "name=nightly") != 1 {
		t.Errorf("after the first run there is %v", first)
	}
	holder := s.holder("host-a/1", time.Minute, "time")
	holder.lock(report)
	run(75, "-n", "--", "true")
	holder.does("unlock", "unlocked")
	run(0, "--", "true")
	third := textfile(t, name)
	for _, c := range []struct {
		metric, label string
		want          float64
	}{
		{"fencegate_lock_wait_seconds", "result=acquired", 2}, {"fencegate_lock_wait_seconds", "result=failed", 1},
		{"fencegate_lock_acquire_failures_total", "reason=held", 1}, {"fencegate_lock_hold_seconds", "", 2},
		{"fencegate_lock_renewals_total", "", observed(first, "fencegate_lock_renewals_total", "")},
	} {
		if got := observed(third, c.metric, c.label); got != c.want {
			t.Errorf("%s{%s} is %v, want %v", c.metric, c.label, got, c.want)
		}
	}
	h := third["fencegate_lock_hold_seconds"].GetMetric()[0].GetHistogram()
	if last := h.Bucket[len(h.Bucket)-1].GetCumulativeCount(); last != h.GetSampleCount() || h.GetSampleSum() < 0.5 {
		t.Errorf("the buckets do not add up: %v", h)
	}

	var wg sync.WaitGroup
	for i := range 8 {
		cmd := s.lockCommand("-r", "/at-once/"+string(rune('a'+i)), "--metrics-textfile", dir, "--name", "nightly", "--", "true")
		p := harness.Start(t, "lock", cmd)
		wg.Go(func() { <-p.Exited() })
	}
	wg.Wait()
	if got := observed(textfile(t, name), "fencegate_lock_wait_seconds", "result=acquired"); got != 10 {
		t.Errorf("after ten runs %v are counted", got)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file is %v, %v: node_exporter could not read it", info.Mode(), err)
	}
	left, err := filepath.Glob(dir + "/.fencegate-*")
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// A file that holds something else is begun anew, and metrics that cannot be
// saved do not fail the job.
func TestLockMetricsInTrouble(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for what, content := range map[string]string{
		"nothing":       "",
		"half":          "# TYPE fencegate_lock_hold_seconds histogram\nfencegate_lock_hold_seconds_bucket{name=\"default\",le=\"0.0",
		"noise":         "\x00\x01 not a metric",
		"other type":    "# TYPE fencegate_lock_hold_seconds counter\nfencegate_lock_hold_seconds{name=\"default\"} 7\n",
		"other buckets": "# TYPE fencegate_lock_hold_seconds histogram\nfencegate_lock_hold_seconds_bucket{name=\"default\",le=\"7\"} 7\nfencegate_lock_hold_seconds_bucket{name=\"default\",le=\"+Inf\"} 7\nfencegate_lock_hold_seconds_sum{name=\"default\"} 7\nfencegate_lock_hold_seconds_count{name=\"default\"} 7\n",
		"another's":     "# TYPE other_total counter\nother_total 7\n",
	} {
		dir := t.TempDir()
		name := file(t, dir+"/fencegate_lock_default.prom", content)
		p := harness.Start(t, "lock", s.lockCommand("--metrics-textfile", dir, "--", "true"))
		wantCode(t, p, 0)
		families := textfile(t, name)
		if got := observed(families, "fencegate_lock_hold_seconds", ""); got != 1 || len(p.Stderr()) > 0 || families["other_total"] != nil {
			t.Errorf("%s: %v is counted, it says %q", what, got, p.Stderr())
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/fencegate_lock_default.prom.lock", 0o755); err != nil {
		t.Fatal(err)
	}
	p := harness.Start(t, "lock", s.lockCommand("--metrics-textfile", dir, "--", "bash", "-c", "exit 7"))
	wantCode(t, p, 7)
	saysOneLine(t, p, "warning", "metrics were not saved")
}
