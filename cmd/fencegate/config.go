package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

// serveConfig is what serve runs with.
type serveConfig struct {
	Upstream   string        `default:"dir:./data" placeholder:"dir:PATH" help:"The store to protect: dir:PATH, a local directory (default ${default})."`
	Protocol   string        `default:"plain" placeholder:"plain" help:"What requests mean: plain (GET, HEAD, OPTIONS, PUT, DELETE)."`
	State      string        `default:"./fencegate-state" placeholder:"PATH" help:"Directory of the ledger, on a local disk (default ${default})."`
	Listen     string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where clients write (default ${default})."`
	Admin      string        `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Where /metrics, /livez and /readyz are (default ${default})."`
	Policy     fence.Policy  `default:"require" placeholder:"POLICY" help:"open, observe, adopt or require (default ${default})."`
	Auth       string        `placeholder:"none" help:"How clients are authenticated. Must be written out as none to listen beyond loopback without."`
	Settle     time.Duration `default:"0s" placeholder:"DURATION" help:"How long a write without a definite answer may still take effect (default: 0 for a local directory, 30s for one on a network file system)."`
	MaxWait    time.Duration `placeholder:"DURATION" help:"How long a request waits for its turn (default: settle + 15s)."`
	Drain      time.Duration `default:"30s" placeholder:"DURATION" help:"How long requests in progress get at a stop (default ${default})."`
	Wait       time.Duration `default:"5s" placeholder:"DURATION" help:"How long to wait while another process uses the ledger (default ${default})."`
	MaxToken   uint64        `default:"9007199254740991" placeholder:"N" help:"The highest accepted token (default 2^53-1)."`
	MaxBody    int64         `default:"0" placeholder:"BYTES" help:"The largest accepted body, 0 for no limit (default ${default})."`
	SpoolQuota int64         `default:"10737418240" placeholder:"BYTES" help:"What all bodies on their way may take together (default 10 GiB)."`
}

// root is the directory that is served.
func (c *serveConfig) root() string { return strings.TrimPrefix(c.Upstream, "dir:") }

// check reports everything that is wrong at once.
func (c *serveConfig) check() error {
	var faults *multierror.Error
	fault := func(format string, args ...any) {
		faults = multierror.Append(faults, fmt.Errorf(format, args...))
	}
	if root, ok := strings.CutPrefix(c.Upstream, "dir:"); !ok || root == "" {
		fault("--upstream %q: expected dir:PATH, a local directory such as dir:./data", c.Upstream)
	}
	if c.Protocol != "plain" {
		fault("--protocol %q: expected plain", c.Protocol)
	}
	if c.State == "" {
		fault("--state is empty: expected a directory")
	}
	if c.Auth != "" && c.Auth != "none" {
		fault("--auth %q: expected none", c.Auth)
	}
	for _, l := range []struct{ flag, address string }{{"--listen", c.Listen}, {"--admin", c.Admin}} {
		host, _, err := net.SplitHostPort(l.address)
		switch {
		case err != nil:
			fault("%s %q: expected HOST:PORT such as 127.0.0.1:8080", l.flag, l.address)
		case !isLoopback(host) && c.Auth != "none":
			fault("%s %s is reachable from other machines and nothing authenticates clients: listen on 127.0.0.1, or write out --auth none if the network is trusted", l.flag, l.address)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--settle", c.Settle}, {"--max-wait", c.MaxWait}, {"--drain", c.Drain}, {"--wait", c.Wait}} {
		if d.value < 0 {
			fault("%s %s: expected a duration of 0 or more", d.flag, d.value)
		}
	}
	if c.MaxToken == 0 || c.MaxToken > uint64(fence.MaxToken) {
		fault("--max-token %d: expected 1 to %d (2^63-1)", c.MaxToken, fence.MaxToken)
	}
	if c.MaxBody < 0 {
		fault("--max-body %d: expected bytes, or 0 for no limit", c.MaxBody)
	}
	if c.SpoolQuota <= 0 {
		fault("--spool-quota %d: expected a number of bytes above 0", c.SpoolQuota)
	}
	if faults == nil {
		return nil
	}
	faults.ErrorFormat = listFaults
	return &exitError{exitConfig, faults}
}

// listFaults puts each fault on a line of its own.
func listFaults(errs []error) string {
	if len(errs) == 1 {
		return errs[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults in the configuration:", len(errs))
	for _, err := range errs {
		b.WriteString("\n  " + err.Error())
	}
	return b.String()
}

// isLoopback reports whether only this machine can connect to host. Names are
// not looked up: what they mean can change.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
