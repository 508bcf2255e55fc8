package proxy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"fencegate/fence"
)

// Every pair of route and reason is there from the start, so that the first
// refusal shows as a rise.
func TestRejectionsStartAtZero(t *testing.T) {
	w := open(t, func(p *plan) { p.opts.Rest.Name = "all" })
	for reason, a := range answers {
		for _, route := range []string{"all", noRoute} {
			if n := w.gauge(fmt.Sprintf("fencegate_rejections_total{reason=%s,route=%s}", reason, route)); n != 0 {
				t.Errorf("%s of route %s starts at %v, want 0", reason, route, n)
			}
		}
		if a.status < 400 || a.title == "" {
			t.Errorf("%s is answered %d %q", reason, a.status, a.title)
		}
	}
	for _, reason := range []fence.Reason{fence.StaleToken, fence.OwnerConflict, fence.TreeFenced, fence.TokenMissing,
		fence.LedgerUnavailable, fence.Draining, fence.Recovering, fence.Settling, fence.Busy} {
		if _, ok := answers[reason]; !ok {
			t.Errorf("%s, a reason of the gate, has no answer", reason)
		}
	}
	if n := w.gauge("fencegate_route_policy{policy=require,route=all}"); n != 1 {
		t.Errorf("the policy of the route is %v, want 1", n)
	}
}

// One refusal is one count, and all that happens is counted once.
func TestRefusalsAreCounted(t *testing.T) {
	w := open(t)
	before := w.counts()
	for _, c := range []struct {
		request string
		status  int
		rises   string // the rejection, "" for none
		counts  string // the request
	}{
		{"PUT /a\nX-Fencing-Token: 5\n\nv", 201, "", "passed,operation=write"},
		{"PUT /a\nX-Fencing-Token: 4\n\nv", 412, "stale_token,route=default", "refused,operation=write"},
		{"GET /a\nX-Fencing-Token: 4", 412, "stale_token,route=default", "refused,operation=ask"},
		{"GET /a\nX-Fencing-Token: 5", 200, "", "passed,operation=ask"},
		{"GET /a", 200, "", "passed,operation=read"},
		{"PUT /a\n\nv", 428, "token_missing,route=default", "refused,operation=write"},
		{"PUT /a\nX-Fencing-Token: x\n\nv", 400, "token_malformed,route=default", "refused,operation=none"},
		{"PUT /a//b\n\nv", 400, "path_ambiguous,route=none", "refused,operation=none"},
		{"FROB /a", 501, "method_refused,route=default", "refused,operation=none"},
		{"OPTIONS *", 501, "method_refused,route=none", "refused,operation=none"},
		{"POST " + claimsPath + "\n\n" + `{"resource":"/a","token":"4"}`, 412, "stale_token,route=default", "refused,operation=claim"},
		{"POST " + claimsPath + "\n\n" + `{"resource":"/a","token":"5"}`, 200, "", "passed,operation=claim"},
		{"POST " + claimsPath + "\n\nx", 400, "request_malformed,route=none", "refused,operation=claim"},
		{"GET " + marksPath + "?resource=/a", 200, "", "passed,operation=marks"},
		{"GET /.well-known/fencegate/x", 404, "not_found,route=none", "refused,operation=marks"},
	} {
		if w.conn == nil {
			w.conn = w.dial()
		}
		w.conn.send(c.request)
		method, _, _ := strings.Cut(c.request, " ")
		if a := w.conn.answer(method); a.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", c.request, a.StatusCode, a.text, c.status)
		}
		w.ended()
		after := w.counts()
		want := map[string]float64{"fencegate_requests_total{decision=" + c.counts + "}": 1}
		if c.rises != "" {
			want["fencegate_rejections_total{reason="+c.rises+"}"] = 1
		}
		for series, n := range after {
			if rise := n - before[series]; rise != want[series] {
				t.Errorf("%s: %s rises by %v, want %v", c.request, series, rise, want[series])
			}
			delete(want, series)
		}
		if len(want) > 0 {
			t.Errorf("%s: no series %v", c.request, want)
		}
		before = after
	}
}

// counts returns the counters of requests and of refusals.
func (w *world) counts() map[string]float64 {
	out := map[string]float64{}
	w.each(func(series string, m *dto.Metric) {
		if strings.HasPrefix(series, "fencegate_requests_total") || strings.HasPrefix(series, "fencegate_rejections_total") {
			out[series] = m.Counter.GetValue()
		}
	})
	return out
}

// Whatever clients send, it makes no new series.
func TestSeriesAreBounded(t *testing.T) {
	w := open(t, func(p *plan) { p.gate.CacheSize = 100 })
	series := func() (n int) {
		w.each(func(string, *dto.Metric) { n++ })
		return n
	}
	before := series()
	requests := 3000
	if testing.Short() {
		requests = 300
	}
	rng := rand.New(rand.NewPCG(1, 2))
	methods := []string{"GET", "HEAD", "PUT", "DELETE", "POST", "PROPFIND", "OPTIONS", "FROB"}
	paths := []string{"/x", "/x/y", "/x//", "/.well-known/fencegate/x", claimsPath, marksPath}
	c := w.dial()
	for range requests {
		method := methods[rng.IntN(len(methods))]
		if rng.IntN(3) == 0 {
			method = fmt.Sprintf("M%d", rng.Uint32())
		}
		c.send(fmt.Sprintf("%s %s%d?%d\nX-Host: %d\nX-Fencing-Token: %d\nX-Fencing-Owner: S3cret%d\nX-Fencing-Client: c%d\nX-Request-Id: %d",
			method, paths[rng.IntN(len(paths))], rng.Uint32(), rng.Uint32(), rng.Uint32(), rng.Uint64()%(1<<54), rng.Uint32(), rng.Uint32(), rng.Uint32()))
		if a := c.answer(method); a.Close {
			c.closed()
			c = w.dial()
		}
	}
	if after := series(); after != before {
		t.Errorf("%d series have become %d", before, after)
	}
}
