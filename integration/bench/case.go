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

	// Of these one at most is not zero. Each replaces wrk by a load of this
	// program's.
	callers int // that raise marks at random, without HTTP
	idle    int // clients that have each made a PUT, whom memory is measured beside
	raises  int // PUTs with rising tokens at random marks, after which memory is measured
	passes  int // of the gate, one after the other, whose allocations are counted
	marks   int // of the ledger that the server starts on; 0: a new one

	wanted []wanted
}

// wanted is a case that another one is compared with, and what the ratio is to be.
type wanted struct {
	says    string // what a reader calls this, if there is a target
	against string // a case; not with a figure
	target  float64
	kind    kind
	over    string // a third case, with additions
}

// kind is what is compared.
type kind string

const (
	byRate    kind = ""          // rates; the target is the lowest ratio
	byTold    kind = "told"      // the same, without a target
	additions kind = "additions" // how much longer the median answer takes than in a third case; the target is the highest ratio
	byTime    kind = "time"      // the median answer's time; the target is the highest ratio
	inMiB     kind = "MiB"       // none: the target is the most anonymous memory
	inAllocs  kind = "allocs"    // none: the target is the most allocations of one
)

// figure tells whether there is no other case: the number itself counts.
func (k kind) figure() bool { return k == inMiB || k == inAllocs }

func (w wanted) String() string {
	switch {
	case w.kind == byTold:
		return ""
	case w.kind == byRate:
		return fmt.Sprintf("≥ %.2f", w.target)
	case w.kind.figure():
		return fmt.Sprintf("≤ %.0f", w.target)
	}
	return fmt.Sprintf("≤ %.2f", w.target)
}

// met tells whether a ratio, or the number itself, is as wanted.
func (w wanted) met(ratio float64) bool {
	if w.kind == byRate || w.kind == byTold {
		return ratio >= w.target
	}
	return ratio <= w.target
}

// told is a comparison without a target.
func told(against string) wanted { return wanted{against: against, kind: byTold} }

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

	k1, m1Marks = 1000, 1_000_000

	// wrk holds a body for each path, and a proxy one for each connection.
	paths64k, paths8m, conns8m = 100, 16, 8
	// A seed on a slow disk takes its time.
	pathsSlow = 200
)

// scenes are all cases, in the order of a round. Those that are compared with
// one another only are neighbours.
var scenes = []scene{
	{name: "sink", suites: "main peers", server: "sink", wanted: []wanted{told("nginx")}},
	{name: "haproxy", suites: "peers", server: "haproxy", wanted: []wanted{told("nginx")}},
	{name: "caddy", suites: "peers", server: "caddy", wanted: []wanted{told("nginx")}},
	{name: "httputil", suites: "main peers", server: "httputil", wanted: []wanted{told("nginx")}},
	{name: "lua", suites: "main peers", server: "lua", seed: token, wanted: []wanted{told("nginx")}},
	{name: "nginx", suites: "main peers", server: "nginx"},
	{name: "before", suites: "main", server: "before", seed: token, wanted: []wanted{told("nginx")}},
	{name: "fencegate", suites: "main peers", server: "fencegate", seed: token, wanted: []wanted{
		{says: "PUT of 1 KiB, 64 connections, equal tokens : nginx's proxy_pass, which checks nothing", against: "nginx", target: 0.80},
		{says: "the same : nginx with Lua and Redis in memory", against: "lua", target: 1.25},
		{says: "the same : the standard library's ReverseProxy, which checks nothing", against: "httputil", target: 2.0},
		told("haproxy"), told("caddy"),
	}},
	{name: "nginx-light", suites: "main peers", server: "nginx-light"},
	{name: "fencegate-light", suites: "main peers", server: "fencegate-light", seed: token, wanted: []wanted{told("nginx-light")}},
	{name: "stale", suites: "main", server: "stale", tokens: tokens{token: token - 1}, seed: token, refused: true,
		wanted: []wanted{{says: "late writes, refused : accepted writes", against: "fencegate", target: 1.5}}},
	{name: "stalled", suites: "main", server: "fencegate", seed: token, stalled: true,
		wanted: []wanted{{says: "beside 32 stalled clients : without them", against: "fencegate", target: 0.95}}},
	{name: "stream", suites: "main", server: "stream", seed: token, wanted: []wanted{told("nginx")}},
	{name: "stream-stalled", suites: "main", server: "stream", seed: token, stalled: true,
		wanted: []wanted{{says: "the same, bodies streamed", against: "stream", target: 0.95}}},
	{name: "lua-always", suites: "main peers", server: "lua-always", tokens: rising, seed: first},
	{name: "rising", suites: "main peers disk", server: "rising", tokens: rising, seed: first, wanted: []wanted{
		{says: "each PUT with a higher token, durable : nginx with Lua and Redis, appendfsync always", against: "lua-always", target: 1.0},
		{says: "the same : the standard library's proxy with a bbolt transaction for each", against: "naive", target: 3.4},
		told("nginx"),
	}},
	{name: "naive", suites: "main peers disk", server: "naive", tokens: rising, seed: first},

	{name: "sink-1c", suites: "main sizes", server: "sink", conns: 1},
	{name: "nginx-1c", suites: "main sizes", server: "nginx", conns: 1},
	{name: "fencegate-1c", suites: "main sizes", server: "fencegate", conns: 1, seed: token, wanted: []wanted{
		{says: "1 connection: what is added to the store's p50 : what nginx adds", against: "nginx-1c", kind: additions, over: "sink-1c", target: 1.6},
		told("nginx-1c"),
	}},
	{name: "nginx-256c", suites: "sizes", server: "nginx", conns: 256},
	{name: "fencegate-256c", suites: "sizes", server: "fencegate", conns: 256, seed: token, wanted: []wanted{told("nginx-256c")}},
	{name: "nginx-64k", suites: "main sizes", server: "nginx", size: k64, paths: paths64k},
	{name: "fencegate-64k", suites: "main sizes", server: "fencegate", size: k64, paths: paths64k, seed: token, cut: true,
		wanted: []wanted{{says: "PUT of 64 KiB : nginx", against: "nginx-64k", target: 0.80}}},
	{name: "nginx-8m", suites: "main sizes", server: "nginx", size: m8, paths: paths8m, conns: conns8m},
	{name: "fencegate-8m", suites: "main sizes", server: "fencegate", size: m8, paths: paths8m, conns: conns8m, seed: token, cut: true,
		wanted: []wanted{{says: "PUT of 8 MiB, taken whole first : nginx, proxy_request_buffering on", against: "nginx-8m", target: 0.85}}},
	{name: "nginx-stream-8m", suites: "main sizes", server: "nginx-stream", size: m8, paths: paths8m, conns: conns8m},
	{name: "stream-8m", suites: "main sizes", server: "stream", size: m8, paths: paths8m, conns: conns8m, seed: token, cut: true,
		wanted: []wanted{{says: "PUT of 8 MiB, streamed : nginx, proxy_request_buffering off", against: "nginx-stream-8m", target: 0.85}}},

	{name: "files-get", suites: "main reads", server: "files", reads: true, files: true, seed: token, tokens: none},
	{name: "dir-get", suites: "main reads", server: "dir", reads: true, files: true, seed: token, tokens: none,
		wanted: []wanted{{says: "GET of 1 KiB, dir : nginx's static files", against: "files-get", target: 0.60}}},
	{name: "dir-get-token", suites: "reads", server: "dir", reads: true, files: true, seed: token, wanted: []wanted{told("dir-get")}},
	{name: "files-get-1m", suites: "main reads", server: "files", reads: true, files: true, size: m1, paths: paths64k, seed: token, tokens: none},
	{name: "dir-get-1m", suites: "main reads", server: "dir", reads: true, files: true, size: m1, paths: paths64k, seed: token, tokens: none,
		wanted: []wanted{{says: "GET of 1 MiB, dir : nginx's static files", against: "files-get-1m", target: 0.90}}},
	{name: "nginx-get", suites: "reads", server: "nginx-files", reads: true, files: true, seed: token, tokens: none},
	{name: "fencegate-get", suites: "reads", server: "fencegate-files", reads: true, files: true, seed: token, tokens: none,
		wanted: []wanted{told("nginx-get")}},
	{name: "fencegate-get-token", suites: "reads", server: "fencegate-files", reads: true, files: true, seed: token,
		wanted: []wanted{told("fencegate-get")}},

	{name: "files", suites: "dir", server: "files", files: true, seed: token},
	{name: "dir", suites: "main dir", server: "dir", files: true, seed: token, wanted: []wanted{
		{says: "PUT of 1 KiB to dir, file and directory fsync'd : the same system calls in bare loops", against: "dir-bare", target: 0.85},
		told("files"),
	}},
	{name: "dir-bare", suites: "main dir", server: "bare", files: true, bare: true},
	{name: "nginx-files", suites: "main dir", server: "nginx-files", files: true, seed: token},
	{name: "fencegate-files", suites: "main dir", server: "fencegate-files", files: true, seed: token,
		wanted: []wanted{{says: "PUT of 1 KiB to an nginx that writes files (dav) : nginx's proxy_pass before the same", against: "nginx-files", target: 0.95}}},

	{name: "lua-always-2ms", suites: "disk", server: "lua-always-2ms", tokens: rising, seed: first, paths: pathsSlow, slow: 2 * time.Millisecond},
	{name: "naive-2ms", suites: "disk", server: "naive-2ms", tokens: rising, seed: first, paths: pathsSlow, slow: 2 * time.Millisecond},
	{name: "rising-2ms", suites: "disk", server: "rising-2ms", tokens: rising, seed: first, paths: pathsSlow, slow: 2 * time.Millisecond,
		wanted: []wanted{told("naive-2ms"), told("lua-always-2ms")}},
	{name: "lua-always-10ms", suites: "disk", server: "lua-always-10ms", tokens: rising, seed: first, paths: pathsSlow, slow: 10 * time.Millisecond},
	{name: "naive-10ms", suites: "disk", server: "naive-10ms", tokens: rising, seed: first, paths: pathsSlow, slow: 10 * time.Millisecond},
	{name: "rising-10ms", suites: "disk", server: "rising-10ms", tokens: rising, seed: first, paths: pathsSlow, slow: 10 * time.Millisecond,
		wanted: []wanted{told("naive-10ms"), told("lua-always-10ms")}},

	{name: "bare-1", suites: "main raises", server: "bare-1k", marks: k1, callers: 1},
	{name: "raise-1", suites: "main raises", server: "raise-1k", marks: k1, callers: 1,
		wanted: []wanted{{says: "time of one raise, 1 caller : a bare bbolt Update", against: "bare-1", kind: byTime, target: 1.25}}},
	{name: "bare-64", suites: "main raises", server: "bare-1k", marks: k1, callers: 64},
	{name: "raise-64", suites: "main raises", server: "raise-1k", marks: k1, callers: 64,
		wanted: []wanted{{says: "64 callers raise 1,000 marks at random : bare bbolt Updates of the same keys", against: "bare-64", target: 8}}},
	{name: "bare-64-1m", suites: "main raises", server: "bare-1m", marks: m1Marks, callers: 64},
	{name: "raise-64-1m", suites: "main raises", server: "raise-1m", marks: m1Marks, callers: 64,
		wanted: []wanted{{says: "64 callers raise 1,000,000 marks at random : the same", against: "bare-64-1m", target: 4}}},
	{name: "gate", suites: "main raises", server: "raise-1k", marks: k1, passes: 100_000,
		wanted: []wanted{{says: "allocations of a pass of the gate, equal token", kind: inAllocs, target: 0}}},
	{name: "idle-1000", suites: "main memory", server: "idle", idle: 1000,
		wanted: []wanted{{says: "anonymous memory beside 1,000 idle clients, MiB", kind: inMiB, target: 40}}},
	{name: "marks-1m", suites: "main memory", server: "marks-1m", marks: m1Marks, raises: 5000,
		wanted: []wanted{{says: "anonymous memory with 1,000,000 marks, MiB", kind: inMiB, target: 64}}},
}

// suites are the names for -suite.
var suites = []string{"main", "sizes", "peers", "reads", "disk", "dir", "raises", "memory", allSuites}

const allSuites = "all"

// in tells whether the case belongs to a suite.
func (c scene) in(suite string) bool {
	return suite == allSuites || slices.Contains(strings.Fields(c.suites), suite)
}

// figure tells whether the case has a figure instead of a rate.
func (c scene) figure() bool { return c.idle+c.raises+c.passes > 0 }

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
