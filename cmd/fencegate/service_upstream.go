package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"fencegate/fence"
	"fencegate/proxy"
	"fencegate/proxy/upstream/dir"
	"fencegate/proxy/upstream/remote"
)

// takeOver limits how long one that stands by waits for the storage once it has
// the ledger: of a process that is killed, the kernel frees one after the other.
const takeOver = 5 * time.Second

// upstream is the store behind the proxy.
type upstream struct {
	proxy.Upstream
	close []func() error
	// warnings are what an operator should know, one line each.
	warnings []string
	// byRoute are the same store, for routes that have it say more with some
	// statuses.
	byRoute []proxy.Upstream
}

// openUpstream opens the store. A ledger id makes a directory remember which
// ledger guards it.
func openUpstream(c *serveConfig, settle time.Duration, ledgerID string) (*upstream, error) {
	u := &upstream{byRoute: make([]proxy.Upstream, len(c.Routes))}
	switch c.scheme() {
	case "dir":
		d, err := dir.Open(c.root(), dir.Options{LedgerID: ledgerID, Wait: min(c.Wait, takeOver), WebDAV: c.WebDAV})
		if err != nil {
			return nil, upstreamError(c.root(), err)
		}
		u.Upstream, u.close, u.warnings = d, append(u.close, d.Close), d.Warnings()
		if d.FoldsCase() && !c.foldsCase() {
			_ = u.Close()
			f := faults{}
			f.value(c.where("upstream"), c.Upstream, errors.New("this file system takes names that differ only in case for one: "+
				"expected fold_case: true on every route, one for path / among them"))
			return nil, f.err()
		}
		return u, nil
	case "http", "https":
		for i := -1; i < len(c.Routes); i++ {
			var definite []int
			if i >= 0 {
				if definite = c.Routes[i].Definite; definite == nil {
					continue
				}
			}
			r, err := remote.Open(c.Upstream, c.remoteOptions(settle, definite))
			if err != nil {
				_ = u.Close()
				f := faults{}
				f.value(c.where("upstream"), c.Upstream, errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")))
				return nil, f.err()
			}
			u.close = append(u.close, r.Close)
			if i < 0 {
				u.Upstream = r
			} else {
				u.byRoute[i] = r
			}
		}
		return u, nil
	}
	return nil, fmt.Errorf("no kind of store has the scheme %q", c.scheme()) // loadConfig lets none through
}

// routes returns the configuration's routes, each with its store.
func (u *upstream) routes(c *serveConfig) (given []proxy.Route, rest proxy.Route) {
	given, rest = c.proxyRoutes()
	for i := range given {
		given[i].Upstream = u.byRoute[i]
	}
	return given, rest
}

// Close closes the store.
func (u *upstream) Close() error {
	var errs []error
	for _, c := range slices.Backward(u.close) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// upstreamError gives an error of opening a directory its exit code, unless it
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
	if c.scheme() != "dir" {
		if c.given("settle") {
			return c.Settle, nil
		}
		return networkSettle, nil
	}
	network, err := dir.NetworkFS(c.root())
	switch {
	case err != nil:
		return 0, upstreamError(c.root(), err)
	case c.given("settle") && network != "" && c.Settle < leastSettle:
		f := faults{}
		o := c.origins["settle"]
		f.value(o.at, o.text, fmt.Errorf("expected 100ms or more: the storage is on a network file system (%s), where writes can outlive this process", network))
		return 0, f.err()
	case c.given("settle"):
		return c.Settle, nil
	case network == "":
		return 0, nil
	}
	log.Warn("the storage is on a network file system, where writes can outlive this process", "filesystem", network, "settle", networkSettle.String())
	return networkSettle, nil
}
