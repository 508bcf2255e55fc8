package main

import (
	"fencegate/fence"
)

// setting is one key of the configuration, which is a flag and a variable of the
// environment too.
type setting struct {
	key   string // in the file; "." stands before the key of a nested mapping
	shape shape
	hint  string // what the flag's value is called
	help  string
	def   string // what applies when it is not given
	note  string // the same in words, where it depends on something
	// remote: it is for stores behind HTTP only.
	remote bool
	// set reads a text. The error says what was expected.
	set func(c *serveConfig, text string) error
}

// settings are all keys but routes, in the order in which they are printed.
var settings = []setting{
	{key: "upstream", hint: "URL", def: "dir:./data",
		help: "The store to protect: dir:PATH, a local directory, or http://HOST:PORT/PREFIX or https, another server.",
		set:  func(c *serveConfig, s string) error { return setUpstream(&c.Upstream, s) }},
	{key: "protocol", hint: "NAME", note: "webdav for a directory, else plain", help: "What requests mean: plain (GET, HEAD, OPTIONS, PUT, DELETE) or webdav (RFC 4918).",
		set: func(c *serveConfig, s string) error {
			c.WebDAV = s == "webdav"
			return oneOf(s, []string{"plain", "webdav"}, "s3")
		}},
	{key: "public_url", hint: "URL", note: "by the Host that a client sends", help: "Where clients reach what is served: http://HOST:PORT/PREFIX. Destinations elsewhere are refused, and answers name objects so.",
		set: func(c *serveConfig, s string) error { return setPublicURL(&c.Public, s) }},
	{key: "host", hint: "KIND", def: "rewrite", remote: true, help: "The Host that the store is sent: rewrite, its own, or keep, the client's.",
		set: func(c *serveConfig, s string) error { return setSwitch(&c.HostKeep, s, "rewrite", "keep") }},
	{key: "tls.ca", hint: "FILE", note: "those of the system", remote: true, help: "Certificates, in PEM, to check that of a store behind https against.",
		set: func(c *serveConfig, s string) error { return setText(&c.TLS.CA, s, "a file") }},
	{key: "tls.server_name", hint: "NAME", note: "the upstream's host", remote: true, help: "The name in the store's certificate.",
		set: func(c *serveConfig, s string) error { return setText(&c.TLS.ServerName, s, "a host name") }},
	{key: "tls.cert", hint: "FILE", note: "none", remote: true, help: "Our own certificate for the store, in PEM.",
		set: func(c *serveConfig, s string) error { return setText(&c.TLS.Cert, s, "a file") }},
	{key: "tls.key", hint: "FILE", note: "none", remote: true, help: "The key of that certificate, in PEM.",
		set: func(c *serveConfig, s string) error { return setText(&c.TLS.Key, s, "a file") }},
	{key: "settle", hint: "DURATION", note: "0s for a local directory, else 30s", help: "How long a write without a definite answer may still take effect.",
		set: func(c *serveConfig, s string) error { return setDuration(&c.Settle, s, 0) }},
	{key: "upstream_timeout", hint: "DURATION", def: "5m", help: "How long one request may take at the store.",
		set: func(c *serveConfig, s string) error { return setDuration(&c.UpstreamTimeout, s, 1) }},
	{key: "upstream_idle", hint: "DURATION", def: "2s", remote: true, help: "How long to keep unused connections to the store, less than the store does; 0s for one connection per request.",
		set: func(c *serveConfig, s string) error { return setDuration(&c.UpstreamIdle, s, 0) }},
	{key: "forward_token", shape: shapeBool, hint: "true|false", def: "false", help: "Send the store the fencing headers too. Not available yet.",
		set: func(_ *serveConfig, s string) error { return oneOf(s, []string{"false"}, "true") }},

	{key: "state", hint: "PATH", def: "./fencegate-state", help: "Directory of the ledger, on a local disk, and of bodies on their way.",
		set: func(c *serveConfig, s string) error { return setText(&c.State, s, "a directory") }},
	{key: "ledger", hint: "bolt:PATH", note: "in state", help: "Directory of the ledger, where it is not to be in the state directory.",
		set: func(c *serveConfig, s string) error { return setLedger(&c.Ledger, s) }},
	{key: "ledger_id", hint: "ID", note: "any", help: "Serve with this ledger only, and no other one that lies in its place.",
		set: func(c *serveConfig, s string) error { return setLedgerID(&c.LedgerID, s) }},
	{key: "tokens", hint: "KIND", note: "that of the ledger, for a new one any", help: "What tokens are: any, or time, microseconds since 1970 as lockclient makes them.",
		set: func(c *serveConfig, s string) error { return setTokens(&c.Tokens, s) }},
	{key: "max_token", shape: shapeNumber, hint: "N", def: fence.DefaultMaxToken.String(), help: "The highest accepted token.",
		set: func(c *serveConfig, s string) error { return setNumber(&c.MaxToken, s, 1, uint64(fence.MaxToken)) }},
	{key: "wait", hint: "DURATION", def: "5s", help: "How long to wait while another process uses the ledger.",
		set: func(c *serveConfig, s string) error { return setDuration(&c.Wait, s, 0) }},

	{key: "listen", hint: "HOST:PORT", def: "127.0.0.1:8080", help: "Where clients write.",
		set: func(c *serveConfig, s string) error { return setAddress(&c.Listen, s) }},
	{key: "admin", hint: "HOST:PORT", def: "127.0.0.1:8081", help: "Where /metrics, /livez and /readyz are.",
		set: func(c *serveConfig, s string) error { return setAddress(&c.Admin, s) }},
	{key: "auth", hint: "none", note: "none, on loopback only", help: "How clients are authenticated. Must be written out as none to listen beyond loopback without.",
		set: func(c *serveConfig, s string) error { c.Auth = s; return oneOf(s, []string{"none"}) }},

	{key: "policy", hint: "POLICY", def: "require", help: "open, observe, adopt or require.",
		set: func(c *serveConfig, s string) error { return setPolicy(&c.Policy, s) }},
	{key: "body", hint: "KIND", def: "stage", remote: true, help: "How bodies go to the store: stage, once they have arrived whole, or stream, while they arrive.",
		set: func(c *serveConfig, s string) error { return setSwitch(&c.Stream, s, "stage", "stream") }},
	{key: "max_wait", hint: "DURATION", note: "settle + 15s", help: "How long a request waits for its turn.",
		set: func(c *serveConfig, s string) error { return setDuration(&c.MaxWait, s, 1) }},
	{key: "max_body", shape: shapeSize, hint: "SIZE", def: "0", help: "The largest accepted body, 0 for no limit.",
		set: func(c *serveConfig, s string) error { return setSize(&c.MaxBody, s, 0) }},
	{key: "spool_quota", shape: shapeSize, hint: "SIZE", def: "10GiB", help: "What all bodies on their way may take together.",
		set: func(c *serveConfig, s string) error { return setSize(&c.SpoolQuota, s, 1) }},
	{key: "drain", hint: "DURATION", def: "30s", help: "How long requests in progress get at a stop.",
		set: func(c *serveConfig, s string) error { return setDuration(&c.Drain, s, 0) }},
}
