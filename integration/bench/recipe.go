package main

import (
	"context"
	"path/filepath"
	"time"
)

// recipe says how to start a server.
type recipe struct {
	store string // the server behind it; "": the sink, if it has any
	start func(ctx context.Context, at place, name string) (*server, error)
}

// recipes are the servers by name, but for the sink, which runs always. A server
// is for equal tokens or for rising ones, since the latter leave no room for the
// former.
var recipes = map[string]recipe{
	"nginx":        nginx(nginxSettings{Buffering: true}),
	"nginx-stream": nginx(nginxSettings{}),
	"haproxy":      {start: startHAProxy},
	"caddy":        {start: startCaddy},
	"httputil":     {start: startHTTPUtil},
	"lua":          {start: startLua(redisInMemory, 0)},
	"lua-always":   {start: startLua(redisAlways, 0)},
	"naive":        oneCommitEach(0),
	"before":       fencegate(func(at place) string { return at.before }),
	"fencegate":    fencegate(built),
	"stale":        fencegate(built),
	"rising":       fencegate(built),
	"stream":       fencegate(built, "--body", "stream"),

	"light": {start: func(ctx context.Context, at place, name string) (*server, error) {
		return startSink(ctx, at, name, storeLight)
	}},
	"nginx-light":     {store: "light", start: nginx(nginxSettings{Buffering: true}).start},
	"fencegate-light": {store: "light", start: fencegate(built).start},

	"raise-1k": onLedger(k1, startRaiser(roleRaise)),
	"bare-1k":  onLedger(k1, startRaiser(roleUpdate)),
	"raise-1m": onLedger(m1Marks, startRaiser(roleRaise)),
	"bare-1m":  onLedger(m1Marks, startRaiser(roleUpdate)),
	"marks-1m": onLedger(m1Marks, fencegate(built).start),
	"idle":     fencegate(built),

	"files":           {start: startFiles},
	"nginx-files":     {store: "files", start: nginx(nginxSettings{Buffering: true}).start},
	"fencegate-files": {store: "files", start: fencegate(built).start},
	"dir":             {start: startDir},
	"bare":            {start: startBare},

	"lua-always-2ms":  {start: startLua(redisAlways, 2*time.Millisecond)},
	"lua-always-10ms": {start: startLua(redisAlways, 10*time.Millisecond)},
	"naive-2ms":       oneCommitEach(2 * time.Millisecond),
	"naive-10ms":      oneCommitEach(10 * time.Millisecond),
	"rising-2ms":      slowFencegate(2 * time.Millisecond),
	"rising-10ms":     slowFencegate(10 * time.Millisecond),
}

func built(at place) string { return at.fencegate }

// fencegate is a recipe for one in front of another server.
func fencegate(binary func(place) string, more ...string) recipe {
	return recipe{start: func(ctx context.Context, at place, name string) (*server, error) {
		return startFencegate(ctx, at, name, []string{binary(at)}, toStore(at, more...)...)
	}}
}

func slowFencegate(delay time.Duration) recipe {
	return recipe{start: func(ctx context.Context, at place, name string) (*server, error) {
		return startFencegate(ctx, at, name, append(slowly(delay), at.fencegate), toStore(at)...)
	}}
}

// startDir starts a fencegate that keeps the files itself.
func startDir(ctx context.Context, at place, name string) (*server, error) {
	root := filepath.Join(at.dir, "dir-data")
	s, err := startFencegate(ctx, at, name, []string{at.fencegate}, "--upstream", "dir:"+root)
	if err == nil {
		s.root = root
	}
	return s, err
}

// onLedger is a recipe for a server that starts on a ledger with so many marks,
// which is in its directory.
func onLedger(marks int, start func(context.Context, place, string) (*server, error)) recipe {
	return recipe{start: func(ctx context.Context, at place, name string) (*server, error) {
		if _, err := copyLedger(ctx, at, name, marks); err != nil {
			return nil, err
		}
		return start(ctx, at, name)
	}}
}

func startRaiser(role string) func(context.Context, place, string) (*server, error) {
	return func(ctx context.Context, at place, name string) (*server, error) {
		return startRole(ctx, at, name, role, 0, "-state", at.ledger(name))
	}
}

func startHTTPUtil(ctx context.Context, at place, name string) (*server, error) {
	return startRole(ctx, at, name, roleHTTPUtil, 0)
}

// oneCommitEach is a recipe for a fence that commits once for each request.
func oneCommitEach(delay time.Duration) recipe {
	return recipe{start: func(ctx context.Context, at place, name string) (*server, error) {
		s, err := startRole(ctx, at, name, roleNaive, delay)
		if err == nil {
			s.fenced = true
		}
		return s, err
	}}
}

// slowly is what comes before a command so that its fsyncs and fdatasyncs each
// take that much longer, as on a slower disk. strace stops the program at these
// system calls only (seccomp), and delays the calling thread only. With -D it is
// the program that is our child, and that gets our signals.
func slowly(delay time.Duration) []string {
	if delay == 0 {
		return nil
	}
	return []string{"strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "signal=none",
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_exit=" + delay.String()}
}
