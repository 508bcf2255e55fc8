package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

// check reports everything that is wrong with the command line, and completes
// what the URL says.
func (c *putCmd) check() error {
	var faults *multierror.Error
	fault := func(err error) {
		if err != nil {
			faults = multierror.Append(faults, err)
		}
	}
	fault(c.readURL())
	if c.Recursive && c.File == "-" {
		fault(errors.New("--recursive: expected a directory"))
	}
	switch {
	case withToken():
	case !c.given():
		fault(errors.New("there is no token: run it within fencegate lock … -- …, or give --redis for a lock of its own"))
	default:
		for _, err := range c.redisFlags.check() {
			fault(err)
		}
		if c.Resource = cmp.Or(c.Resource, c.URL, "/"); faults == nil {
			fault(checkResource(c.Resource))
		}
	}
	if c.Wait < 0 {
		fault(fmt.Errorf("-w %s: expected a duration of 0 or more", c.Wait))
	}
	if faults == nil {
		return nil
	}
	faults.ErrorFormat = oneLine
	return &exitError{exitUsage, faults}
}

// readURL leaves the escaped path in c.URL, "" for the root, and the fence in
// c.Fence. $FENCEGATE_URL in front stands for the fence: put has the token
// itself. The owner goes to no other server than the fence.
func (c *putCmd) readURL() error {
	if helper := os.Getenv("FENCEGATE_URL"); helper != "" && c.Fence != "" {
		if rest, ok := strings.CutPrefix(c.URL, helper); ok && strings.HasPrefix(rest, "/") {
			c.URL = rest
		}
	}
	u, err := url.Parse(c.URL)
	if err != nil || strings.ContainsAny(c.URL, "?#") || u.User != nil || u.Opaque != "" ||
		u.Scheme == "" && (u.Host != "" || !strings.HasPrefix(c.URL, "/")) {
		return errors.New("the URL: expected a path such as /reports/q3.csv, or http://HOST:PORT/PATH, without user, query and fragment (write ? as %3F, # as %23)")
	}
	if u.Scheme != "" {
		at := u.Scheme + "://" + u.Host
		if f, err := url.Parse(c.Fence); err == nil && c.Fence != "" && !sameOrigin(f, u) {
			return fmt.Errorf("the URL is at %s, but --fence (or FENCEGATE_FENCE) is %s: expected one of them", at, f.Redacted())
		}
		c.Fence = at
	}
	if err := checkFence(c.Fence); err != nil {
		return err
	}
	c.URL = u.EscapedPath()
	if strings.HasSuffix(c.URL, "/") && !c.Recursive {
		if c.File == "-" {
			return errors.New("the URL ends in a slash: expected the name under which standard input is stored")
		}
		c.URL += url.PathEscape(filepath.Base(c.File))
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	if _, err := fence.Canonical(cmp.Or(c.URL, "/"), fence.NameOptions{}); err != nil {
		return fmt.Errorf("the URL's path %q: %w", c.URL, err)
	}
	if c.URL == "" && !c.Recursive {
		return errors.New("the URL has no path: expected one such as /reports/q3.csv")
	}
	return nil
}
