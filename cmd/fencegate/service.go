package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/fence"
	"fencegate/proxy"
	"fencegate/proxy/admin"
	"fencegate/proxy/protocol"
	"fencegate/proxy/upstream/dir"
	"fencegate/store"
)

// networkSettle is the settle time of storage on another machine, unless told
// otherwise.
const networkSettle = 30 * time.Second

// service is a running proxy with all its parts.
type service struct {
	ledgerID string
	settle   time.Duration
	upstream *dir.Dir
	gate     *fence.Gate
	proxy    *proxy.Proxy
	data     *http.Server
	admin    *http.Server
	dataL    net.Listener
	adminL   net.Listener
	serving  sync.WaitGroup
	broken   chan error // a listener that failed
}

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
	if s.upstream, err = dir.Open(c.root(), dir.Options{LedgerID: meta.ID}); err != nil {
		return nil, upstreamError(c.root(), err)
	}
	defer func() {
		if err != nil {
			_ = s.upstream.Close()
		}
	}()
	if s.settle, err = settleFor(c, log); err != nil {
		return nil, err
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
	if s.gate, err = fence.Start(ctx, ledger, fence.Options{
		Settle: s.settle, MaxWait: c.MaxWait, OnCommit: metrics.Committed,
	}); err != nil {
		return nil, err
	}
	s.proxy, err = proxy.New(s.gate, protocol.Plain{}, s.upstream, proxy.Options{
		Rest:     proxy.Route{Policy: c.Policy},
		MaxToken: fence.Token(c.MaxToken),
		LedgerID: meta.ID,
		Settle:   s.settle,
		Body:     proxy.BodyLimits{Max: c.MaxBody, Quota: c.SpoolQuota},
		SpoolDir: filepath.Join(c.State, "spool"),
		Log:      log,
		Metrics:  metrics,
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
	s.admin = &http.Server{Handler: admin.New(gatherer, s.gate.State), ReadHeaderTimeout: 10 * time.Second}
	s.serve(s.data, s.dataL)
	s.serve(s.admin, s.adminL)
	return s, nil
}

// openLedger opens the ledger that guards the storage; with init it makes it,
// which it refuses for storage that another ledger has guarded.
func openLedger(ctx context.Context, c *serveConfig, init bool) (fence.Ledger, error) {
	guard, err := dir.LedgerID(c.root())
	if err != nil {
		return nil, upstreamError(c.root(), err)
	}
	url := "bolt:" + c.State
	opts := store.Options{Wait: c.Wait, ExpectID: guard}
	if c.Wait == 0 {
		opts.Wait = -1 // not at all
	}
	if init {
		if _, err := os.Lstat(filepath.Join(c.State, "ledger.db")); errors.Is(err, os.ErrNotExist) {
			if guard != "" {
				return nil, wouldForget(c, guard)
			}
			if err := tryRest(c); err != nil {
				return nil, err
			}
		}
		if _, err := store.Create(ctx, url, opts); err != nil {
			return nil, err
		}
	}
	return store.Open(ctx, url, opts)
}

func wouldForget(c *serveConfig, guard string) error {
	return &fence.OpenError{
		Path: c.root(), Err: fence.ErrLedgerForeign,
		Detail: "it is guarded by ledger " + guard + ", and --init would make a new, empty one",
		Remedy: "restore that ledger to " + c.State + ", or remove " + filepath.Join(c.root(), ".fencegate", "ledger-id") +
			" if its marks are to be forgotten, which lets old lock holders write again",
	}
}

// tryRest finds out whether the rest of the start can succeed, before a ledger
// is made: one that a failed start leaves behind would have to be explained by
// "drop --init".
func tryRest(c *serveConfig) error {
	var s service
	if err := s.listen(c); err != nil {
		return err
	}
	s.dataL.Close()
	s.adminL.Close()
	d, err := dir.Open(c.root(), dir.Options{})
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		return upstreamError(c.root(), err)
	}
	return nil
}

// upstreamError gives an error of opening the storage its exit code, unless it
// is about the ledger that guards it.
func upstreamError(root string, err error) error {
	var open *fence.OpenError
	if errors.As(err, &open) {
		return err
	}
	err = fmt.Errorf("--upstream dir:%s: %w", root, err)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &exitError{exitCreate, fmt.Errorf("%w; this user must be able to write there", err)}
	}
	return &exitError{exitConfig, err}
}

// settleFor returns the settle time: none for a local directory, whose writes
// die with the process.
func settleFor(c *serveConfig, log *slog.Logger) (time.Duration, error) {
	if c.Settle > 0 {
		return c.Settle, nil
	}
	network, err := dir.NetworkFS(c.root())
	if err != nil {
		return 0, upstreamError(c.root(), err)
	}
	if network == "" {
		return 0, nil
	}
	log.Warn("the storage is on a network file system, where writes can outlive this process", "filesystem", network, "settle", networkSettle.String())
	return networkSettle, nil
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

func (s *service) serve(server *http.Server, l net.Listener) {
	s.serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.broken <- err
		}
	})
}

func (s *service) dataAddr() string  { return s.dataL.Addr().String() }
func (s *service) adminAddr() string { return s.adminL.Addr().String() }

// stop lets requests in progress end for up to drain, then cuts what is left,
// and closes the ledger, clean if nothing can take effect any more.
func (s *service) stop(drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	var shutdown sync.WaitGroup
	shutdown.Go(func() {
		if s.data.Shutdown(ctx) != nil {
			_ = s.data.Close()
		}
	})
	err := s.gate.Stop(ctx)
	shutdown.Wait()
	s.proxy.Close()
	if e := s.upstream.Close(); err == nil {
		err = e
	}
	_ = s.admin.Close()
	s.serving.Wait()
	return err
}
