package proxy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"fencegate/fence"
	"fencegate/integration/harness"
	"fencegate/proxy/front"
	"fencegate/proxy/protocol"
	"fencegate/store/memory"
)

// secret is part of every owner in these tests. It may be in no log, metric or
// answer.
const secret = "S3cret"

// plan is what a world is made from; tests change what they are about.
type plan struct {
	gate   fence.Options
	opts   Options
	ledger *memory.Ledger
	store  Upstream   // default: a fakeStore
	fake   *fakeStore // the one in store, if any
	proto  protocol.Protocol

	connections int  // the most at once
	watch       bool // count the clients that leave, in left
}

// world is a proxy on a socket, between clients and a fake store.
type world struct {
	t      *testing.T
	proxy  *Proxy
	gate   *fence.Gate
	ledger *memory.Ledger
	store  *fakeStore
	reg    *prometheus.Registry
	log    *logbook
	server *front.Server
	addr   string
	conn   *client // of says

	serving atomic.Int64 // requests in the handler
	left    atomic.Int64 // requests whose client has left meanwhile, if that is watched
}

// open starts a world. At the end of the test it stops it and checks what must
// hold after any test: nothing is in flight, no body is kept, no owner was told.
func open(t *testing.T, changes ...func(*plan)) *world {
	t.Helper()
	fake := newFakeStore()
	p := plan{
		gate:   fence.Options{MaxWait: harness.Patience},
		opts:   Options{Rest: Route{Policy: fence.Require}, LedgerID: "ledger-1", SpoolDir: t.TempDir()},
		ledger: memory.New(fence.Meta{Clean: true}),
		store:  fake, fake: fake, connections: 100, proto: protocol.Plain{},
	}
	for _, change := range changes {
		change(&p)
	}
	w := &world{t: t, ledger: p.ledger, store: p.fake, reg: prometheus.NewRegistry(), log: new(logbook)}
	log := slog.New(slog.NewJSONHandler(w.log, nil))
	p.opts.Log, p.opts.Metrics = log, NewMetrics(w.reg)
	p.opts.Settle = p.gate.Settle
	p.gate.OnCommit = p.opts.Metrics.Committed
	var err error
	if w.gate, err = fence.Start(t.Context(), p.ledger, p.gate); err != nil {
		t.Fatal(err)
	}
	if w.proxy, err = New(w.gate, p.proto, p.store, p.opts); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	w.server = NewServer(w.proxy, log)
	w.server.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.serving.Add(1)
		defer w.serving.Add(-1)
		if p.watch {
			stop := context.AfterFunc(r.Context(), func() { w.left.Add(1) })
			defer stop()
		}
		w.proxy.ServeHTTP(rw, r)
	})
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(LimitConnections(l, p.connections)) }()
	t.Cleanup(func() {
		w.server.Close()
		<-served
		w.close()
	})
	return w
}

// watching has the world count the clients that leave.
func watching(p *plan) { p.watch = true }

func (w *world) close() {
	t := w.t
	harness.Eventually(t, "all requests to end", func() (any, bool) { n := w.serving.Load(); return n, n == 0 })
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_ = w.gate.Stop(ctx) // the ledger may have been failed on purpose
	if s := w.gate.State(); s.Begun != 0 || s.Waiting != 0 {
		t.Errorf("at the end %d writes are begun and %d requests wait, want none", s.Begun, s.Waiting)
	}
	if n := w.gauge("fencegate_spool_bytes"); n != 0 {
		t.Errorf("at the end %v bytes of bodies are kept, want 0", n)
	}
	w.proxy.Close()
	w.store.check(t)
	if text := w.log.text(); strings.Contains(text, secret) {
		t.Errorf("the log tells an owner:\n%s", text)
	}
	if text := w.metricsText(); strings.Contains(text, secret) {
		t.Errorf("the metrics tell an owner:\n%s", text)
	}
	families, err := w.reg.Gather()
	if err != nil {
		t.Error(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("the metrics have faults: %v %v", problems, err)
	}
}

// inFlight waits until so many requests wait and so many writes have begun.
func (w *world) inFlight(waiting, begun int) {
	w.t.Helper()
	harness.Eventually(w.t, "requests in flight", func() (any, bool) {
		s := w.gate.State()
		return s, s.Waiting == waiting && s.Begun == begun
	})
}

// received waits until the proxy has taken in so many bytes of bodies.
func (w *world) received(n int) {
	w.t.Helper()
	harness.Eventually(w.t, "bytes of bodies", func() (any, bool) {
		got := w.gauge("fencegate_spool_bytes")
		return got, got == float64(n)
	})
}

// ended waits until no request is being handled.
func (w *world) ended() {
	w.t.Helper()
	harness.Eventually(w.t, "requests to end", func() (any, bool) { n := w.serving.Load(); return n, n == 0 })
}

func policy(p fence.Policy) func(*plan) { return func(pl *plan) { pl.opts.Rest.Policy = p } }

// maxWait is for tests of what cannot begin in time.
func maxWait(d time.Duration) func(*plan) { return func(p *plan) { p.gate.MaxWait = d } }

func settle(d time.Duration) func(*plan) { return func(p *plan) { p.gate.Settle = d } }

func limits(l BodyLimits) func(*plan) { return func(p *plan) { p.opts.Body = l } }

// onCommit sets the hook of the ledger.
func onCommit(hook func([]fence.Row) error) func(*plan) {
	return func(p *plan) { p.ledger.OnCommit = hook }
}
