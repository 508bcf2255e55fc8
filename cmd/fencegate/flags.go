package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fencegate/fence"
)

// checkResource reads the flag -r.
func checkResource(path string) error {
	if path == "" {
		return errors.New("-r is missing: expected a path such as /reports/q3.csv")
	}
	if _, err := fence.Canonical(path, fence.NameOptions{}); err != nil {
		return fmt.Errorf("-r %q: expected a path such as /reports/q3.csv: %w", path, err)
	}
	return nil
}

// checkFence reads the flag --fence. It shows no URL that may hold a password.
func checkFence(fence string) error {
	const expected = "expected the fencegate's http://HOST:PORT, here or in FENCEGATE_FENCE"
	if fence == "" {
		return errors.New("--fence is missing: " + expected)
	}
	u, err := url.Parse(fence)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" || strings.TrimSuffix(u.Path, "/") != "" {
		return errors.New("--fence: " + expected + ", without user, path and query")
	}
	return nil
}

// oneLine joins faults where a script expects one line.
func oneLine(errs []error) string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// patience is how long to wait: a duration, or seconds as a number, which
// flock(1) takes.
type patience time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *patience) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if seconds, bare := strconv.ParseFloat(string(text), 64); bare == nil && seconds < 1e9 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil {
		return errors.New("expected a duration such as 60s, or a number of seconds")
	}
	*p = patience(d)
	return nil
}

func (p patience) String() string { return time.Duration(p).String() }
