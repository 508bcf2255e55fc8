package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
	"fencegate/lockclient"
)

type putCmd struct {
	File      string        `arg:"" help:"The file to send, or - for standard input; with --recursive a directory."`
	URL       string        `arg:"" name:"url" help:"Where it goes: a path at the fence such as /reports/q3.csv, or a whole URL there. With a final slash the file's name is added."`
	Recursive bool          `env:"-" help:"Send all files in the directory and below it."`
	Resource  string        `short:"r" env:"FENCING_RESOURCE" placeholder:"PATH" help:"With --redis: what to lock (default: the URL's path, with --recursive all below it too)."`
	Fence     string        `placeholder:"URL" help:"The fencegate in front of the storage (default: that of the URL, or within fencegate lock the same)."`
	TTL       time.Duration `default:"15s" env:"-" placeholder:"DURATION" help:"With --redis: how long the lock outlives a crash (default ${default})."`
	Wait      time.Duration `short:"w" default:"60s" env:"-" placeholder:"DURATION" help:"How long to wait for the lock, and for a fence that is not ready (default ${default})."`
	Type      string        `env:"-" name:"content-type" placeholder:"TYPE" help:"The Content-Type of what is stored (default: none)."`
	redisFlags
}

// Help is what fencegate put --help says before its flags.
func (putCmd) Help() string {
	return `Writes files through the fence with a token: that of the environment within fencegate lock (FENCING_TOKEN, FENCING_OWNER), or with --redis that of a lock which it takes for the time of writing.

A write that the fence answers with 503 was not sent, and is tried again until --wait is over. No other one is: whatever is in doubt is told. With --recursive files are sent one after the other, in the order of their names; what cannot be read or is refused is told in the end, and the others are sent. A lock that is lost ends it at once. Symbolic links are not followed, and told.

Exit code: 0 all is stored; 1 the store refused something; 76 a later holder was seen, or the lock was lost: nothing of this file took effect; 74 a write may or may not have taken effect; 75 the lock or the fence was not to be had in time; 69 Redis or the fence does not answer; 66 a file cannot be read; 64 usage.`
}

// upload is one file on its way.
type upload struct {
	file string // "-" is standard input
	path string // escaped
}

// writer sends uploads for a lock.
type writer struct {
	fence  string
	client *http.Client
	header http.Header
	wait   time.Duration
}

// Run sends the file or files.
func (c *putCmd) Run(std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	uploads, faults := c.uploads()
	if len(uploads) == 0 && faults == nil {
		return nil // an empty directory
	}
	if len(uploads) == 0 {
		return faults.err()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := writer{fence: strings.TrimSuffix(c.Fence, "/"), header: http.Header{}, wait: c.Wait}
	if c.Type != "" {
		w.header.Set("Content-Type", c.Type)
	}
	if os.Getenv("FENCING_TOKEN") != "" || os.Getenv("FENCING_OWNER") != "" {
		stamp, err := (&claimCmd{}).stamp()
		if err != nil {
			return &exitError{exitUsage, err}
		}
		w.header.Set("X-Fencing-Token", stamp.Token.String())
		w.header.Set("X-Fencing-Owner", string(stamp.Owner))
		if stamp.Client != "" {
			w.header.Set("X-Fencing-Client", stamp.Client)
		}
		w.client = &http.Client{Transport: onceOnly(), CheckRedirect: direct.CheckRedirect}
		return w.all(ctx, uploads, faults)
	}
	return c.locked(ctx, std, &w, uploads, faults)
}

// locked takes the lock for the time of writing.
func (c *putCmd) locked(ctx context.Context, std streams, w *writer, uploads []upload, faults *putFaults) error {
	settings := []lockclient.Option{lockclient.WithFence(c.Fence), lockclient.WithMaxWait(c.Wait), lockclient.WithTTL(c.TTL)}
	if c.Recursive {
		settings = append(settings, lockclient.WithTree())
	}
	locks, closeAll, err := c.open(std.err, settings...)
	if err != nil {
		return err
	}
	defer closeAll()
	defer closeSoon(locks)
	lock, err := locks.Lock(ctx, c.Resource)
	if err != nil {
		return &exitError{notTaken(err, exitHeld), inOneLine(err)}
	}
	within, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(lock.Context(), func() { cancel(context.Cause(lock.Context())) })()
	w.client = &http.Client{Transport: lock.Transport(onceOnly()), CheckRedirect: direct.CheckRedirect}
	return giveBack(std, lock, w.all(within, uploads, faults))
}

// onceOnly sends each request on a connection of its own: on a kept one that
// dies net/http sends some requests once more.
func onceOnly() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	return t
}

// check reports everything that is wrong with the command line, and completes
// what the URL says.
func (c *putCmd) check() error {
	var faults *multierror.Error
	fault := func(format string, args ...any) { faults = multierror.Append(faults, fmt.Errorf(format, args...)) }
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Opaque != "" || u.Scheme == "" && !strings.HasPrefix(c.URL, "/"):
		fault("the URL %q: expected a path such as /reports/q3.csv, or http://HOST:PORT/PATH, without user, query and fragment", c.URL)
	default:
		if u.Scheme != "" {
			c.Fence = u.Scheme + "://" + u.Host
		}
		c.URL = u.EscapedPath()
		if err := checkFence(c.Fence); err != nil {
			fault("%w", err)
		}
	}
	if faults == nil && strings.HasSuffix(c.URL, "/") && !c.Recursive {
		if c.File == "-" {
			fault("the URL ends in a slash: expected the name under which standard input is stored")
		} else {
			c.URL += url.PathEscape(filepath.Base(c.File))
		}
	}
	if c.Recursive && c.File == "-" {
		fault("--recursive: expected a directory")
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	if c.Resource == "" {
		c.Resource = cmp.Or(c.URL, "/")
	}
	if faults == nil {
		if _, err := fence.Canonical(cmp.Or(c.URL, "/"), fence.NameOptions{}); err != nil {
			fault("the URL's path %q: %w", c.URL, err)
		}
	}
	if os.Getenv("FENCING_TOKEN") == "" && os.Getenv("FENCING_OWNER") == "" {
		if !c.given() {
			fault("there is no token: run it within fencegate lock … -- …, or give --redis for a lock of its own")
		} else {
			for _, err := range c.redisFlags.check() {
				fault("%w", err)
			}
		}
	}
	if c.Wait < 0 {
		fault("-w %s: expected a duration of 0 or more", c.Wait)
	}
	if faults == nil {
		return nil
	}
	faults.ErrorFormat = oneLine
	return &exitError{exitUsage, faults}
}

// uploads lists what is to be sent.
func (c *putCmd) uploads() ([]upload, *putFaults) {
	var faults *putFaults
	if !c.Recursive {
		return []upload{{c.File, c.URL}}, nil
	}
	var all []upload
	err := filepath.WalkDir(c.File, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			faults = faults.add(exitNoInput, err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			faults = faults.add(exitNoInput, fmt.Errorf("%s: it is no regular file, and was not sent", name))
			return nil
		}
		rel, err := filepath.Rel(c.File, name)
		if err != nil {
			return err
		}
		path := c.URL
		for segment := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
			path += "/" + url.PathEscape(segment)
		}
		if _, err := fence.Canonical(path, fence.NameOptions{}); err != nil {
			faults = faults.add(exitNoInput, fmt.Errorf("%s: it was not sent, for the fence refuses the name: %w", name, err))
			return nil
		}
		all = append(all, upload{name, path})
		return nil
	})
	if err != nil {
		faults = faults.add(exitNoInput, err)
	}
	return all, faults
}

// all sends uploads in turn, and returns what went wrong.
func (w *writer) all(ctx context.Context, uploads []upload, faults *putFaults) error {
	for _, u := range uploads {
		code, err := w.one(ctx, u)
		if err == nil {
			continue
		}
		faults = faults.add(code, fmt.Errorf("%s to %s: %w", u.file, u.path, err))
		if code == exitLost || code == exitUnavailable || code == exitHeld || ctx.Err() != nil {
			break
		}
	}
	return faults.err()
}

// one sends a file, again as long as the fence says that it was not sent on.
func (w *writer) one(ctx context.Context, u upload) (code int, err error) {
	deadline := time.Now().Add(w.wait)
	for {
		code, after, err := w.try(ctx, u)
		if code != exitHeld || u.file == "-" {
			return code, err
		}
		pause := min(max(after, 100*time.Millisecond), time.Second)
		if time.Now().Add(pause).After(deadline) {
			return code, fmt.Errorf("not within %s: %w", w.wait, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return code, err
		}
	}
}

// try sends a file once. With exitHeld it was not sent on.
func (w *writer) try(ctx context.Context, u upload) (code int, after time.Duration, err error) {
	body, size := io.Reader(os.Stdin), int64(-1)
	if u.file != "-" {
		f, err := os.Open(u.file)
		if err != nil {
			return exitNoInput, 0, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return exitNoInput, 0, err
		}
		if !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 {
			return exitNoInput, 0, errors.New("it is no file")
		}
		body = f
		if info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, w.fence+u.path, io.NopCloser(body))
	if err != nil {
		return exitUsage, 0, err
	}
	if r.ContentLength = size; size == 0 {
		r.Body = http.NoBody
	}
	r.Header = w.header.Clone()
	res, err := w.client.Do(r)
	if err != nil {
		return putErrorCode(err), 0, inOneLine(err)
	}
	defer res.Body.Close()
	return putAnswer(res)
}
