package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"fencegate/fence"
)

type doctorCmd struct {
	Upstream string        `placeholder:"URL" help:"The store to look at, as serve would be given it: http://HOST:PORT/PREFIX, https or dir:PATH."`
	Direct   string        `placeholder:"URL" help:"The same store as others reach it: that nobody can write there, past fencegate, is tried from here."`
	Protocol string        `default:"plain" placeholder:"NAME" help:"What clients will speak: plain or webdav (default ${default})."`
	Body     string        `default:"stage" placeholder:"KIND" help:"Judge for bodies that are staged or streamed: stage or stream (default ${default})."`
	FoldCase bool          `help:"Judge for routes with fold_case: true."`
	Header   []string      `sep:"none" placeholder:"'NAME: VALUE'" help:"Send this header too, such as Authorization; the variable takes one a line. Values are never shown."`
	CA       string        `name:"ca" placeholder:"FILE" help:"Certificates, in PEM, to check that of a store behind https against (default: those of the system)."`
	Scratch  string        `default:"/" placeholder:"PATH" help:"Where to make a folder to try things in, which is removed again (default ${default})."`
	Settle   time.Duration `default:"30s" placeholder:"DURATION" help:"How long to watch for late effects (default ${default})."`
	JSON     bool          `env:"-" help:"One JSON object instead of the table."`
}

// Run tries what a store does where fencegate depends on it, in a folder of its
// own, and tells what it found: 0 is safe, 1 is not.
func (c *doctorCmd) Run(std streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return c.examine(ctx, std, usualPace)
}

// examine is Run at some pace, until ctx ends.
func (c *doctorCmd) examine(ctx context.Context, std streams, p examPace) error {
	if err := c.check(); err != nil {
		return &exitError{exitUsage, err}
	}
	r := &diagnosis{Upstream: c.Upstream, secrets: secretsOf(c.lines())}
	var err error
	if root, ok := strings.CutPrefix(c.Upstream, "dir:"); ok {
		err = c.examineDir(ctx, r, root)
	} else {
		err = c.examineStore(ctx, r, p)
	}
	var unreachable *unreachableError
	switch {
	case ctx.Err() != nil:
		return &exitError{exitFailed, errors.New("interrupted; " + r.left())}
	case errors.As(err, &unreachable):
		text := r.scrub(inOneLine(err).Error())
		if len(r.Left)+len(r.MayAppear) > 0 {
			text += "; " + r.left()
		}
		return &exitError{exitUnavailable, errors.New(text)}
	case err != nil:
		return err
	}
	r.finish()
	if err := r.print(std.out, c.JSON); err != nil {
		return err
	}
	if !r.Safe {
		return &exitError{exitFailed, nil} // the report tells it
	}
	return nil
}

// lines are the headers of all flags, or of the variable.
func (c *doctorCmd) lines() (lines []string) {
	for _, h := range c.Header {
		for line := range strings.SplitSeq(h, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// check returns all that is wrong with the command line.
func (c *doctorCmd) check() error {
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", flag, err))
		}
	}
	local := strings.HasPrefix(c.Upstream, "dir:")
	if c.Upstream == "" {
		fault("--upstream is missing", errors.New("expected dir:PATH, http://HOST:PORT or https://HOST, here or in FENCEGATE_UPSTREAM"))
	} else {
		fault("--upstream", setUpstream(new(string), c.Upstream))
	}
	fault("--protocol", oneOf(c.Protocol, []string{"plain", "webdav"}, "s3"))
	fault("--body", oneOf(c.Body, []string{"stage", "stream"}))
	if c.Direct != "" {
		if err := setUpstream(new(string), c.Direct); err != nil || strings.HasPrefix(c.Direct, "dir:") {
			fault("--direct", errors.New("expected http://HOST:PORT or https://HOST, without user and query"))
		}
		if local {
			fault("--direct", errors.New("expected only with a store behind HTTP"))
		}
	}
	if c.CA != "" && !strings.HasPrefix(c.Upstream, "https:") && !strings.HasPrefix(c.Direct, "https:") {
		fault("--ca", errors.New("expected only with a store behind https"))
	}
	if _, err := fence.Canonical(c.Scratch, fence.NameOptions{FoldCase: true}); err != nil || strings.HasPrefix(c.Scratch+"/", ownPath+"/") {
		fault("--scratch", errors.New("expected a path such as /tmp/"))
	}
	if c.Settle < leastSettle || c.Settle > time.Hour {
		fault("--settle", errors.New("expected a duration from 100ms to 1h"))
	}
	for _, line := range c.lines() {
		fault("--header", checkHeader(line))
	}
	if faults == nil {
		return nil
	}
	return errors.New(oneLine(faults))
}

// examineStore looks at a store behind HTTP.
func (c *doctorCmd) examineStore(ctx context.Context, r *diagnosis, p examPace) error {
	store, err := newPeer(c.Upstream, c.CA, c.lines(), p.answer)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	x := &exam{
		ctx: ctx, report: r, pace: p, store: store, settle: c.Settle,
		webdav: c.Protocol == "webdav", stream: c.Body == "stream", names: fence.NameOptions{FoldCase: c.FoldCase},
	}
	if c.Direct != "" {
		if x.direct, err = newPeer(c.Direct, c.CA, c.lines(), p.answer); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	r.Settings = c.advice()
	x.scratch = newScratch(c.Scratch)
	return x.run()
}

// advice is what is recommended unless a probe knows better.
func (c *doctorCmd) advice() *advice {
	return &advice{
		Upstream: c.Upstream, Protocol: c.Protocol, CA: c.CA,
		Settle: networkSettle, UpstreamIdle: usualIdle, Body: c.Body, FoldCase: c.FoldCase,
	}
}

// checkHeader reads a header as --header gives it. The error does not show it.
func checkHeader(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || strings.ContainsFunc(value, isOdd) {
		return errors.New("expected 'Name: value'")
	}
	switch strings.ToLower(name) {
	case "host", "connection", "content-length", "transfer-encoding", "expect", "range", "destination", "overwrite", "depth", "upgrade":
		return fmt.Errorf("expected another name than %s, which the probes set themselves", name)
	}
	return nil
}

// withoutQuery is a Location as it may be shown: what follows the path can hold
// a secret.
func withoutQuery(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return "somewhere"
	}
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return u.String()
}
