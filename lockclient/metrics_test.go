package lockclient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// values flattens what was gathered: counters by value, histograms by count.
func values(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("lint: %s: %s", p.Metric, p.Text)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			v := m.GetCounter().GetValue()
			if h := m.GetHistogram(); h != nil {
				v = float64(h.GetSampleCount())
			}
			out[strings.TrimPrefix(f.GetName(), "fencegate_lock_")+"{"+strings.Join(labels, ",")+"}"] = v
		}
	}
	return out
}

func TestMetrics(t *testing.T) {
	s, f := startRedis(t), startFence(t)
	reg := prometheus.NewPedanticRegistry()
	c := s.client(WithMetrics(NewMetrics(reg)), WithName("report"), WithTTL(600*time.Millisecond))

	l := mustLock(t, c, "/r")
	if _, err := c.TryLock(t.Context(), "/r"); !errors.Is(err, ErrNotAcquired) {
		t.Fatal(err)
	}
	first := l.Deadline()
	eventually(t, 5*time.Second, "renewed", func() bool { return l.Deadline().After(first) })
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := c.TryLock(t.Context(), "/r", WithFence(f.URL)); !errors.Is(err, ErrFenceUnreachable) {
		t.Fatal(err)
	}
	l = mustLock(t, c, "/gone", WithTTL(time.Hour))
	s.flush()
	if err := l.Unlock(t.Context()); !errors.Is(err, ErrLeaseExpired) {
		t.Fatal(err)
	}
	got := values(t, reg)
	renewals := "renewals_total{name=report,result=ok}"
	if got[renewals] < 1 {
		t.Errorf("%v renewals", got[renewals])
	}
	delete(got, renewals)
	want := map[string]float64{
		"wait_seconds{name=report,result=acquired}":        2,
		"wait_seconds{name=report,result=failed}":          2,
		"acquire_failures_total{name=report,reason=held}":  1,
		"acquire_failures_total{name=report,reason=fence}": 1,
		"hold_seconds{name=report}":                        2,
		"release_mismatch_total{name=report}":              1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMetricsOfALostLease(t *testing.T) {
	s := startRedis(t)
	reg := prometheus.NewPedanticRegistry()
	c := s.client(WithMetrics(NewMetrics(reg)), WithTTL(600*time.Millisecond))
	l := mustLock(t, c, "/r")
	s.freeze()
	within(t, 5*time.Second, l.Lost(), "lost")
	_ = l.Unlock(context.Background())
	got := values(t, reg)
	if got["renewals_total{name=default,result=failed}"] < 1 || got["release_mismatch_total{name=default}"] != 1 {
		t.Error(got)
	}
	if d := got["redis_unavailable_seconds_total{name=default}"]; d <= 0 || d > 0.6 {
		t.Errorf("redis was unavailable for %v s of a lease of 0.6 s", d)
	}
}

func TestFailuresHaveOneWordEach(t *testing.T) {
	for want, err := range map[string]error{
		"held": ErrNotAcquired, "redis": ErrRedisUnreachable, "fence": ErrFenceUnreachable, "closed": ErrClosed,
		"tokens": &TokenGapError{}, "fenced": &FencedError{}, "refused": errors.Join(ErrNotAcquired, &ClaimError{}), "lost": &LostError{},
	} {
		if got := failure(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
