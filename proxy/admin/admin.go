// Package admin is the second listener: metrics and health, for the operator's
// network only. It changes nothing.
package admin

import (
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fencegate/fence"
)

// New returns the admin handler:
//
//	/metrics  Prometheus text format
//	/livez    200 as long as the process answers
//	/readyz   200, or 503 and why: the ledger failed or is full, recovering, draining
func New(metrics prometheus.Gatherer, state func() fence.State) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, "alive")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := unready(state()); why != "" {
			say(w, http.StatusServiceUnavailable, why)
			return
		}
		say(w, http.StatusOK, "ready")
	})
	return mux
}

// unready says why nothing protected passes now, or "".
func unready(s fence.State) string {
	switch {
	case s.Failed != nil:
		return "the ledger failed: " + s.Failed.Error()
	case s.Full:
		return "the ledger's disk is full: free space, then it goes on by itself"
	case s.Draining:
		return "draining"
	case s.Recovering:
		return "recovering: writes of the last run may still take effect"
	}
	return ""
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
