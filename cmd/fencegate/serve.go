package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

type serveCmd struct {
	Init   bool        `help:"Make the ledger; only for the very first start."`
	Config serveConfig `embed:""`
}

// Run serves until SIGTERM or SIGINT, then lets requests in progress end. A
// second signal ends the process at once, which is safe too.
func (c *serveCmd) Run(std streams) error {
	if err := c.Config.check(); err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(std.err, nil))
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerBuildInfo(reg)

	// A file size limit is to be an error of the write that meets it, not the end
	// of the process.
	signal.Ignore(syscall.SIGXFSZ)
	signals, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	s, err := startService(signals, &c.Config, c.Init, log, reg)
	if err != nil && signals.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end while it waited for the ledger
	}
	if err != nil {
		return err
	}
	log.Info("serving", "data", s.dataAddr(), "admin", s.adminAddr(), "upstream", c.Config.Upstream,
		"policy", c.Config.Policy.String(), "settle", s.settle.String(), "ledger", s.ledgerID, "version", version())
	if c.Config.Auth == "none" {
		log.Warn("clients are not authenticated: anyone who can connect can write")
	}

	var failed error
	select {
	case <-signals.Done():
	case failed = <-s.broken:
	}
	cancel() // from here on a signal has its usual effect
	log.Info("stopping", "drain", c.Config.Drain.String())
	start := time.Now()
	if err := s.stop(c.Config.Drain); failed == nil {
		failed = err
	}
	log.Info("stopped", "took", time.Since(start).String())
	return failed
}
