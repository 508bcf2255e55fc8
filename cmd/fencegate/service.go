package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/fence"
	"fencegate/proxy"
	"fencegate/proxy/admin"
	"fencegate/proxy/front"
)

// service is a running proxy with all its parts.
type service struct {
	ledgerID string
	settle   time.Duration
	upstream *upstream
	gate     *fence.Gate
	proxy    *proxy.Proxy
	data     *front.Server
	admin    *http.Server
	dataL    net.Listener
	adminL   net.Listener
	serving  sync.WaitGroup
	broken   chan error // a listener that failed
}

// unwatched is how long a request waits for its turn before its client is
// watched. Commits take less, but on slow disks.
const unwatched = 10 * time.Millisecond

// startService opens ledger and storage, and serves. With init it makes the
// ledger first. Either everything runs, or nothing does and the error says why.
func startService(ctx context.Context, c *serveConfig, init bool, log *slog.Logger, reg prometheus.Registerer) (_ *service, err error) {
	s := &service{broken: make(chan error, 2)}
	ledger, err := openLedger(ctx, c, init)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && s.gate == nil { // not started, so its clean flag stays as it was
			_ = ledger.Close(false)
		}
	}()
	meta, err := ledger.Meta()
	if err != nil {
		return nil, err
	}
	s.ledgerID = meta.ID
	if err := checkKind(c, meta.Kind); err != nil {
		return nil, err
	}
	if err := checkAdoption(ctx, c, ledger, meta.ID); err != nil {
		return nil, err
	}
	if s.settle, err = settleFor(c, log); err != nil {
		return nil, err
	}
	if s.upstream, err = openUpstream(c, s.settle, meta.ID); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.upstream.Close()
		}
	}()
	for _, text := range s.upstream.warnings {
		log.Warn("about the storage", "what", text)
	}
	if err := s.listen(c); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.dataL.Close()
			s.adminL.Close()
		}
	}()

	metrics := proxy.NewMetrics(reg)
	told := ledgerLog{log: log, path: filepath.Join(c.ledgerDir(), "ledger.db")}
	if s.gate, err = fence.Start(ctx, ledger, fence.Options{
		Settle: s.settle, MaxWait: c.MaxWait, Unwatched: unwatched,
		OnCommit: func(rows int, took time.Duration, err error) {
			metrics.Committed(rows, took, err)
			told.committed(err)
		},
	}); err != nil {
		return nil, err
	}
	routes, rest := s.upstream.routes(c)
	s.proxy, err = proxy.New(s.gate, c.protocol(), s.upstream.Upstream, proxy.Options{
		Routes:          routes,
		Rest:            rest,
		MaxToken:        fence.Token(c.MaxToken),
		TokenKind:       meta.Kind,
		LedgerID:        meta.ID,
		Settle:          s.settle,
		UpstreamTimeout: c.UpstreamTimeout,
		Names:           c.names(),
		HostKept:        c.HostKeep,
		Body:            proxy.BodyLimits{Max: c.MaxBody, Quota: c.SpoolQuota},
		SpoolDir:        c.spoolDir(),
		Log:             log,
		Metrics:         metrics,
	})
	if err != nil { // the spool directory
		_ = s.gate.Stop(ctx)
		return nil, &exitError{exitCreate, err}
	}
	var gatherer prometheus.Gatherer = prometheus.DefaultGatherer
	if g, ok := reg.(prometheus.Gatherer); ok {
		gatherer = g
	}
	s.data = proxy.NewServer(s.proxy, log)
	s.admin = &http.Server{
		Handler:     admin.New(gatherer, s.gate.State),
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	s.serve(s.data, proxy.LimitConnections(s.dataL, connectionsFor(openFiles())))
	s.serve(s.admin, s.adminL)
	return s, nil
}

func (s *service) listen(c *serveConfig) (err error) {
	if s.dataL, err = net.Listen("tcp", c.Listen); err != nil {
		return listenError("--listen", err)
	}
	if s.adminL, err = net.Listen("tcp", c.Admin); err != nil {
		s.dataL.Close()
		return listenError("--admin", err)
	}
	return nil
}

func listenError(flag string, err error) error {
	code := exitConfig
	if errors.Is(err, syscall.EADDRINUSE) {
		code = exitHeld
	}
	return &exitError{code, fmt.Errorf("%s: %w; choose another address, or stop what uses this one", flag, err)}
}

func (s *service) serve(server interface{ Serve(net.Listener) error }, l net.Listener) {
	s.serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.broken <- err
		}
	})
}

func (s *service) dataAddr() string  { return s.dataL.Addr().String() }
func (s *service) adminAddr() string { return s.adminL.Addr().String() }

// stop lets requests in progress end for up to drain, then cuts what is left,
// and closes the ledger, clean if nothing can take effect any more. The ledger
// is last: who stands by for it needs the addresses and the storage then.
func (s *service) stop(drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	var shutdown sync.WaitGroup
	shutdown.Go(func() {
		if s.data.Shutdown(ctx) != nil {
			_ = s.data.Close()
		}
	})
	s.gate.Drain(ctx)
	shutdown.Wait()
	s.proxy.Close()
	err := s.upstream.Close()
	_ = s.admin.Close()
	s.serving.Wait()
	return errors.Join(s.gate.Stop(ctx), ledgerFailure(s.gate.State()), err)
}
