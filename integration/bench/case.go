package main

import "context"

// scene is one case: a load on one server.
type scene struct {
	name    string
	server  string // by name: cases may share one
	tokens  tokens
	seed    int64 // the token written to each path before all rounds; 0: none
	refused bool  // all is to be answered 412 stale_token, and nothing stored
	stalled bool  // with clients beside the load that have stopped in mid-body
	dir     bool  // the store is a directory, not the sink

	against string // the case that it is compared with
	target  string // of the ratio, for the reader
}

// token is what writers have whose token does not rise.
const token = 1000

// scenes are all cases, in the order of a round. Those that are compared with
// one another only are neighbours.
var scenes = []scene{
	{name: "sink", server: "sink", against: "nginx"},
	{name: "nginx", server: "nginx"},
	{name: "httputil", server: "httputil", against: "nginx"},
	{name: "before", server: "before", seed: token, against: "nginx"},
	{name: "fencegate", server: "fencegate", seed: token, against: "nginx", target: "≥ 0.65"},
	{name: "stalled", server: "fencegate", stalled: true, against: "fencegate", target: "≥ 0.95"},
	{name: "stale", server: "stale", tokens: tokens{token: token - 1}, seed: token, refused: true, against: "nginx"},
	{name: "rising", server: "rising", tokens: tokens{rising: true}, seed: 1, against: "nginx"},
	{name: "stream", server: "stream", seed: token, against: "nginx"},
	{name: "stream-stalled", server: "stream", stalled: true, against: "stream", target: "≥ 0.95"},
	{name: "dir", server: "dir", seed: token, dir: true},
}

// prefix is what the paths of all loads begin with.
const prefix = "/bench"

// carries returns the tokens of the load.
func (c scene) carries() tokens {
	if c.tokens == (tokens{}) {
		return tokens{token: token}
	}
	return c.tokens
}

// recipe starts a server.
type recipe func(context.Context, place) (*server, error)

// recipes are the servers by name, but for the sink, which runs always.
var recipes = map[string]recipe{
	"nginx":    startNginx,
	"httputil": func(ctx context.Context, at place) (*server, error) { return startRole(ctx, at, roleHTTPUtil) },
	"before": func(ctx context.Context, at place) (*server, error) {
		return startFencegate(ctx, at, "before", at.before, toSink(at)...)
	},
	"fencegate": fencegate("fencegate"),
	"stale":     fencegate("stale"),
	"rising":    fencegate("rising"),
	"stream":    fencegate("stream", "--body", "stream"),
	"dir": func(ctx context.Context, at place) (*server, error) {
		return startFencegate(ctx, at, "dir", at.fencegate, "--upstream", "dir:"+at.dir+"/data")
	},
}

// fencegate is a recipe for one in front of the sink.
func fencegate(name string, more ...string) recipe {
	return func(ctx context.Context, at place) (*server, error) {
		return startFencegate(ctx, at, name, at.fencegate, toSink(at, more...)...)
	}
}
