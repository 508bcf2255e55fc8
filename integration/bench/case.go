package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// scene is one case: a load on one server.
type scene struct {
	name   string
	suites string // it belongs to, by name
	server string // by name: cases may share one

	size, conns, paths int           // of the load; 0: what the flags say
	reads              bool          // GET instead of PUT
	tokens             tokens        // zero: the one token
	seed               int64         // the token written to each path before all rounds; 0: none
	refused            bool          // all is to be answered 412 stale_token, and nothing stored
	stalled            bool          // with clients beside the load that have stopped in mid-body
	files              bool          // the store is a directory, not the sink
	bare               bool          // not by wrk, but by the server itself, without requests
	cut                bool          // bodies are so long that wrk leaves in the middle of some
	slow               time.Duration // by which the server's disk is delayed

	wanted []wanted
}

// wanted is a case that another one is compared with, and what the ratio of
// their rates is to be.
type wanted struct {
	against string
	target  float64 // 0: none, the ratio is only told
	// over changes what is compared: how much longer than in this third case
	// the median answer takes, of which the target is the highest.
	over string
}

func (w wanted) String() string {
	switch {
	case w.target == 0:
		return ""
	case w.over != "":
		return fmt.Sprintf("≤ %.2f", w.target)
	}
	return fmt.Sprintf("≥ %.2f", w.target)
}

// met tells whether a ratio is as wanted.
func (w wanted) met(ratio float64) bool {
	if w.over != "" {
		return ratio <= w.target
	}
	return ratio >= w.target
}

// What writers have whose token does not rise, and what paths are seeded with
// whose tokens do. Both have a valid token below.
const (
	token = 1000
	first = 2
)

var (
	rising = tokens{rising: true}
	none   = tokens{none: true}
)

// The shapes of the load that have names, so that cases can be told apart.
const (
	k64, m1, m8 = 64 << 10, 1 << 20, 8 << 20

	// wrk holds a body for each path, and a proxy one for each connection.
	paths64k, paths8m, conns8m = 100, 16, 8
	// A seed on a slow disk takes its time.
	pathsSlow = 200
)

// scenes are all cases, in the order of a round. Those that are compared with
// one another only are neighbours.
var scenes = []scene{
	{name: "sink", suites: "main peers", server: "sink", wanted: []wanted{{against: "nginx"}}},
	{name: "haproxy", suites: "peers", server: "haproxy", wanted: []wanted{{against: "nginx"}}},
	{name: "caddy", suites: "peers", server: "caddy", wanted: []wanted{{against: "nginx"}}},
	{name: "httputil", suites: "main peers", server: "httputil", wanted: []wanted{{against: "nginx"}}},
	{name: "lua", suites: "main peers", server: "lua", seed: token, wanted: []wanted{{against: "nginx"}}},
	{name: "nginx", suites: "main peers", server: "nginx"},
	{name: "before", suites: "main", server: "before", seed: token, wanted: []wanted{{against: "nginx"}}},
	{name: "fencegate", suites: "main peers", server: "fencegate", seed: token, wanted: []wanted{
		{against: "nginx", target: 0.80}, {against: "lua", target: 1.25}, {against: "httputil", target: 2.0},
		{against: "haproxy"}, {against: "caddy"},
	}},
	{name: "stalled", suites: "main", server: "fencegate", seed: token, stalled: true, wanted: []wanted{{against: "fencegate", target: 0.95}}},
	{name: "stale", suites: "main", server: "stale", tokens: tokens{token: token - 1}, seed: token, refused: true,
		wanted: []wanted{{against: "fencegate", target: 1.5}}},
	{name: "stream", suites: "main", server: "stream", seed: token, wanted: []wanted{{against: "nginx"}}},
	{name: "stream-stalled", suites: "main", server: "stream", seed: token, stalled: true, wanted: []wanted{{against: "stream", target: 0.95}}},
	{name: "lua-always", suites: "main peers", server: "lua-always", tokens: rising, seed: first},
	{name: "rising", suites: "main peers disk", server: "rising", tokens: rising, seed: first, wanted: []wanted{
		{against: "lua-always", target: 1.0}, {against: "naive"}, {against: "nginx"},
	}},
	{name: "naive", suites: "peers disk", server: "naive", tokens: rising, seed: first},

	{name: "sink-1c", suites: "sizes", server: "sink", conns: 1},
	{name: "nginx-1c", suites: "sizes", server: "nginx", conns: 1},
	{name: "fencegate-1c", suites: "sizes", server: "fencegate", conns: 1, seed: token, wanted: []wanted{
		{against: "nginx-1c", over: "sink-1c", target: 1.6}, {against: "nginx-1c"},
	}},
	{name: "nginx-256c", suites: "sizes", server: "nginx", conns: 256},
	{name: "fencegate-256c", suites: "sizes", server: "fencegate", conns: 256, seed: token, wanted: []wanted{{against: "nginx-256c"}}},
	{name: "nginx-64k", suites: "sizes", server: "nginx", size: k64, paths: paths64k},
	{name: "fencegate-64k", suites: "sizes", server: "fencegate", size: k64, paths: paths64k, seed: token, cut: true,
		wanted: []wanted{{against: "nginx-64k", target: 0.80}}},
	{name: "nginx-8m", suites: "sizes", server: "nginx", size: m8, paths: paths8m, conns: conns8m},
	{name: "fencegate-8m", suites: "sizes", server: "fencegate", size: m8, paths: paths8m, conns: conns8m, seed: token, cut: true,
		wanted: []wanted{{against: "nginx-8m", target: 0.85}}},
	{name: "nginx-stream-8m", suites: "sizes", server: "nginx-stream", size: m8, paths: paths8m, conns: conns8m},
	{name: "stream-8m", suites: "sizes", server: "stream", size: m8, paths: paths8m, conns: conns8m, seed: token, cut: true,
		wanted: []wanted{{against: "nginx-stream-8m", target: 0.85}}},

	{name: "files-get", suites: "reads", server: "files", reads: true, files: true, seed: token, tokens: none},
	{name: "dir-get", suites: "reads", server: "dir", reads: true, files: true, seed: token, tokens: none,
		wanted: []wanted{{against: "files-get", target: 0.60}}},
	{name: "dir-get-token", suites: "reads", server: "dir", reads: true, files: true, seed: token, wanted: []wanted{{against: "dir-get"}}},
	{name: "files-get-1m", suites: "reads", server: "files", reads: true, files: true, size: m1, paths: paths64k, seed: token, tokens: none},
	{name: "dir-get-1m", suites: "reads", server: "dir", reads: true, files: true, size: m1, paths: paths64k, seed: token, tokens: none,
		wanted: []wanted{{against: "files-get-1m", target: 0.90}}},
	{name: "nginx-get", suites: "reads", server: "nginx-files", reads: true, files: true, seed: token, tokens: none},
	{name: "fencegate-get", suites: "reads", server: "fencegate-files", reads: true, files: true, seed: token, tokens: none,
		wanted: []wanted{{against: "nginx-get"}}},
	{name: "fencegate-get-token", suites: "reads", server: "fencegate-files", reads: true, files: true, seed: token,
		wanted: []wanted{{against: "fencegate-get"}}},

	{name: "files", suites: "dir", server: "files", files: true, seed: token},
	{name: "dir", suites: "dir", server: "dir", files: true, seed: token, wanted: []wanted{{against: "dir-bare", target: 0.85}, {against: "files"}}},
	{name: "dir-bare", suites: "dir", server: "bare", files: true, bare: true},
	{name: "nginx-files", suites: "dir", server: "nginx-files", files: true, seed: token},
	{name: "fencegate-files", suites: "dir", server: "fencegate-files", files: true, seed: token,
		wanted: []wanted{{against: "nginx-files", target: 0.95}}},

	{name: "lua-always-2ms", suites: "disk", server: "lua-always-2ms", tokens: rising, seed: first, paths: pathsSlow, slow: 2 * time.Millisecond},
	{name: "naive-2ms", suites: "disk", server: "naive-2ms", tokens: rising, seed: first, paths: pathsSlow, slow: 2 * time.Millisecond},
	{name: "rising-2ms", suites: "disk", server: "rising-2ms", tokens: rising, seed: first, paths: pathsSlow, slow: 2 * time.Millisecond,
		wanted: []wanted{{against: "naive-2ms"}, {against: "lua-always-2ms"}}},
	{name: "lua-always-10ms", suites: "disk", server: "lua-always-10ms", tokens: rising, seed: first, paths: pathsSlow, slow: 10 * time.Millisecond},
	{name: "naive-10ms", suites: "disk", server: "naive-10ms", tokens: rising, seed: first, paths: pathsSlow, slow: 10 * time.Millisecond},
	{name: "rising-10ms", suites: "disk", server: "rising-10ms", tokens: rising, seed: first, paths: pathsSlow, slow: 10 * time.Millisecond,
		wanted: []wanted{{against: "naive-10ms"}, {against: "lua-always-10ms"}}},
}

// suites are the names for -suite.
var suites = []string{"main", "sizes", "peers", "reads", "disk", "dir", allSuites}

const allSuites = "all"

// in tells whether the case belongs to a suite.
func (c scene) in(suite string) bool {
	return suite == allSuites || slices.Contains(strings.Fields(c.suites), suite)
}

// carries returns the tokens of the load.
func (c scene) carries() tokens {
	if c.tokens == (tokens{}) {
		return tokens{token: token}
	}
	return c.tokens
}

// shape returns the load of the case: its own, and else the common one.
func (c scene) shape(common load) load {
	l := common
	if c.size > 0 {
		l.size = c.size
	}
	if c.paths > 0 {
		l.paths = c.paths
	}
	if c.conns > 0 {
		l.conns = c.conns
	}
	l.threads = min(l.threads, l.conns)
	l.reads = c.reads
	return l
}
