package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fencegate/fence"
	"fencegate/proxy"
	"fencegate/proxy/protocol/dav"
	"fencegate/proxy/upstream/remote"
)

// serveConfig is what serve runs with. The settings in config_settings.go say
// what each field means, loadConfig fills them in.
type serveConfig struct {
	Listen, Admin string

	State    string // directory
	Ledger   string // directory, "" for State
	LedgerID string
	Tokens   fence.TokenKind // "" for that of the ledger
	MaxToken uint64
	Wait     time.Duration

	Upstream        string
	WebDAV          bool          // the protocol, else plain
	Public          dav.Space     // how clients name what is served
	Settle          time.Duration // 0 if not given: settleFor chooses
	UpstreamTimeout time.Duration
	UpstreamIdle    time.Duration
	HostKeep        bool
	TLS             tlsConfig

	Policy     fence.Policy
	Routes     []routeConfig
	MaxWait    time.Duration // 0 if not given: the gate's default
	Stream     bool          // bodies, where routes do not say
	MaxBody    int64
	SpoolQuota int64

	Auth  string
	Drain time.Duration

	origins map[string]origin // of what was given, by key
}

// tlsConfig is for a store behind https.
type tlsConfig struct{ CA, ServerName, Cert, Key string }

// origin is what was given for a setting, and where.
type origin struct {
	text string
	at   place
}

// given reports whether a setting was written down anywhere.
func (c *serveConfig) given(key string) bool {
	_, ok := c.origins[key]
	return ok
}

// where says at what to look for the value of a setting that is not right
// beside others.
func (c *serveConfig) where(key string) place {
	if o, ok := c.origins[key]; ok {
		return o.at
	}
	return place{from: fromFlag, name: flagName(key)}
}

// scheme tells the kinds of upstream apart: dir, http or https.
func (c *serveConfig) scheme() string {
	scheme, _, _ := strings.Cut(c.Upstream, ":")
	return scheme
}

// root is the directory that is served, of an upstream with the scheme dir.
func (c *serveConfig) root() string { return strings.TrimPrefix(c.Upstream, "dir:") }

// foldsCase reports whether all names are compared without regard to case.
func (c *serveConfig) foldsCase() bool {
	all := false
	for i := range c.Routes {
		if !c.Routes[i].Names.FoldCase {
			return false
		}
		all = all || c.Routes[i].Path == "" || c.Routes[i].Path == "/"
	}
	return all
}

// ledgerDir is where the ledger is.
func (c *serveConfig) ledgerDir() string {
	if c.Ledger != "" {
		return c.Ledger
	}
	return c.State
}

func (c *serveConfig) spoolDir() string { return filepath.Join(c.State, "spool") }

// streams reports whether there are bodies that the spool need not hold.
func (c *serveConfig) streams() bool {
	return c.Stream || slices.ContainsFunc(c.Routes, func(r routeConfig) bool { return r.Stream })
}

// proxyRoutes returns the routes as the proxy takes them, and the one for all
// other paths.
func (c *serveConfig) proxyRoutes() (given []proxy.Route, rest proxy.Route) {
	for _, r := range c.Routes {
		given = append(given, r.Route)
	}
	return given, proxy.Route{Policy: c.Policy, Stream: c.Stream}
}

// remoteOptions are those of a store behind HTTP.
func (c *serveConfig) remoteOptions(settle time.Duration, definite []int) remote.Options {
	return remote.Options{
		HostKeep: c.HostKeep,
		CAFile:   c.TLS.CA, ServerName: c.TLS.ServerName, CertFile: c.TLS.Cert, KeyFile: c.TLS.Key,
		ReadTimeout: c.UpstreamTimeout, Idle: c.UpstreamIdle, Settle: settle, DefiniteStatuses: definite,
	}
}
