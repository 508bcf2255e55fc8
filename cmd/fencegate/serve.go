package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

type serveCmd struct {
	Init   bool        `help:"Make the ledger; only for the very first start."`
	Config configFlags `embed:""`
}

// Run serves until SIGTERM or SIGINT, then lets requests in progress end. A
// second signal ends the process at once, which is safe too.
func (c *serveCmd) Run(std streams, ctx *kong.Context) error {
	calmGC()
	config, err := c.Config.load(ctx)
	if err != nil {
		return err
	}
	// A log that nobody reads any more is no reason to end.
	signal.Ignore(syscall.SIGPIPE)
	records := newLogWriter(std.err)
	defer records.flush(logPatience)
	log := slog.New(slog.NewJSONHandler(records, nil))
	reg := prometheus.NewRegistry()
	records.register(reg)
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerBuildInfo(reg)

	// A file size limit is to be an error of the write that meets it, not the end
	// of the process.
	signal.Ignore(syscall.SIGXFSZ)
	signals, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	s, err := startService(signals, config, c.Init, log, reg)
	if err != nil && signals.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end while it waited for the ledger
	}
	if err != nil {
		return err
	}
	log.Info("serving", "data", s.dataAddr(), "admin", s.adminAddr(), "upstream", config.Upstream,
		"policy", config.Policy.String(), "routes", len(config.Routes), "settle", s.settle.String(), "ledger", s.ledgerID, "version", version())
	if config.Auth == "none" {
		log.Warn("clients are not authenticated: anyone who can connect can write")
	}
	records.flush(logPatience) // who waits for it sees it before any other

	var failed error
	select {
	case <-signals.Done():
	case failed = <-s.broken:
	}
	cancel() // from here on a signal has its usual effect
	log.Info("stopping", "drain", config.Drain.String())
	start := time.Now()
	if err := s.stop(config.Drain); failed == nil {
		failed = err
	}
	log.Info("stopped", "took", time.Since(start).String())
	return failed
}
