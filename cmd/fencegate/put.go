package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"
)

type putCmd struct {
	File      string        `arg:"" help:"The file to send, or - for standard input; with --recursive a directory."`
	URL       string        `arg:"" name:"url" help:"Where it goes: a path at the fence such as /reports/q3.csv, or a whole URL there. With a final slash the file's name is added."`
	Recursive bool          `env:"-" help:"Send all files in the directory and below it."`
	Resource  string        `short:"r" env:"FENCING_RESOURCE" placeholder:"PATH" help:"With --redis: what to lock (default: the URL's path, with --recursive all below it too)."`
	Fence     string        `placeholder:"URL" help:"The fencegate in front of the storage (default: that of the URL, or within fencegate lock the same)."`
	TTL       time.Duration `default:"15s" env:"-" placeholder:"DURATION" help:"With --redis: how long the lock outlives a crash (default ${default})."`
	Wait      patience      `short:"w" default:"60s" env:"-" placeholder:"DURATION" help:"How long to wait for the lock, and for a fence that is not ready (default ${default})."`
	Type      string        `env:"-" name:"content-type" placeholder:"TYPE" help:"The Content-Type of what is stored (default: none)."`
	redisFlags
}

// Help is what fencegate put --help says before its flags.
func (putCmd) Help() string {
	return `Writes files through the fence with a token: that of the environment within fencegate lock (FENCING_TOKEN, FENCING_OWNER), or with --redis that of a lock which it takes for the time of writing.

A write that the fence answers with 503 was not sent to the store, and is tried again until --wait is over, unless it came from a pipe. No other one is: whatever is in doubt is told. With --recursive files are sent one after the other, in the order of their names; folders that a store wants made first (WebDAV) are made, what cannot be read or is refused is told in the end, and the others are sent. A lock that is lost ends it at once. Symbolic links in a directory are not followed, and told.

Exit code: 0 all is stored; 1 the store refused something; 76 a later holder was seen, or the lock was lost: nothing of this file took effect; 74 a write may or may not have taken effect; 75 the lock or the fence was not to be had in time; 69 Redis or the fence does not answer; 66 a file cannot be read, or changed while it was sent; 64 usage; 128+n ended by signal n, nothing in doubt.`
}

// withToken reports whether a lock around this one gives the token.
func withToken() bool { return os.Getenv("FENCING_TOKEN") != "" || os.Getenv("FENCING_OWNER") != "" }

// Run sends the file or files.
func (c *putCmd) Run(std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	uploads, faults := c.uploads()
	if len(uploads) == 0 {
		return faults.err() // or an empty directory
	}
	ctx, stop := untilTold()
	defer stop()
	w := &writer{fence: strings.TrimSuffix(c.Fence, "/"), header: http.Header{}, wait: time.Duration(c.Wait), made: map[string]bool{}}
	if c.Recursive {
		w.root = &c.URL
	}
	if c.Type != "" {
		w.header.Set("Content-Type", c.Type)
	}
	if !withToken() {
		return c.locked(ctx, std, w, uploads, faults)
	}
	stamp, err := (&claimCmd{}).stamp()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	w.header.Set("X-Fencing-Token", stamp.Token.String())
	w.header.Set("X-Fencing-Owner", string(stamp.Owner))
	if stamp.Client != "" {
		w.header.Set("X-Fencing-Client", stamp.Client)
	}
	w.use(onceOnly(), context.Background())
	return w.all(ctx, uploads, faults)
}
