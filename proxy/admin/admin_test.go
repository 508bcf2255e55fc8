package admin

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/fence"
)

func TestAdmin(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "fencegate_probe_total", Help: "x"}))
	var state fence.State
	srv := httptest.NewServer(New(reg, func() fence.State { return state }))
	defer srv.Close()

	for _, c := range []struct {
		method, path string
		state        fence.State
		status       int
		text         string
	}{
		{"GET", "/livez", fence.State{Failed: errors.New("disk")}, 200, "alive"},
		{"GET", "/readyz", fence.State{}, 200, "ready"},
		{"GET", "/readyz", fence.State{Failed: errors.New("disk on fire")}, 503, "disk on fire"},
		{"GET", "/readyz", fence.State{Full: true}, 503, "the ledger's disk is full"},
		{"GET", "/readyz", fence.State{Recovering: true}, 503, "recovering"},
		{"GET", "/readyz", fence.State{Draining: true}, 503, "draining"},
		{"GET", "/metrics", fence.State{}, 200, "fencegate_probe_total 0"},
		{"GET", "/", fence.State{}, 404, ""},
		{"POST", "/metrics", fence.State{}, 405, ""},
	} {
		state = c.state
		req, _ := http.NewRequest(c.method, srv.URL+c.path, nil)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.status || !strings.Contains(string(body), c.text) {
			t.Errorf("%s %s with %+v: %d %q, want %d and %q", c.method, c.path, c.state, res.StatusCode, body, c.status, c.text)
		}
	}
}
