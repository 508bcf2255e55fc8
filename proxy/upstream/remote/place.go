package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// place is what a store's URL says.
type place struct {
	secure bool
	name   string // host without port
	addr   string // host with port
	host   string // as a Host header
	prefix string
}

// parseURL returns all faults of a store's URL together. They do not quote it
// whole: it may hold a password.
func parseURL(raw string) (place, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return place{}, fmt.Errorf("the store's URL cannot be read: %w", err)
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	p := place{name: u.Hostname(), host: u.Host, prefix: strings.TrimSuffix(u.EscapedPath(), "/")}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = cmp.Or(port, "80")
	case "https":
		p.secure = true
		port = cmp.Or(port, "443")
	default:
		fault("the store's URL has the scheme %q, want http or https", u.Scheme)
	}
	switch n, err := strconv.Atoi(port); {
	case p.name == "":
		fault("the store's URL has no host, want one like http://127.0.0.1:8081/")
	case strings.Contains(p.name, "%"):
		fault("the store's URL names an IPv6 zone, which no Host header can carry")
	case port != "" && (err != nil || n < 1 || n > 65535):
		fault("the store's URL has the port %q, want 1 to 65535", port)
	}
	if u.User != nil {
		fault("the store's URL holds a user name or password; they would not be sent")
	}
	if u.RawQuery != "" || u.ForceQuery {
		fault("the store's URL has a query; each request brings its own")
	}
	if strings.Contains(raw, "#") {
		fault("the store's URL has a fragment, which is never sent")
	}
	if !plainPrefix(u.Path) {
		fault("the store's URL has an empty, . or .. segment in its path %q, which servers read differently", u.Path)
	}
	p.addr = net.JoinHostPort(p.name, port)
	return p, errors.Join(faults...)
}

// plainPrefix reports whether all servers take a path literally.
func plainPrefix(path string) bool {
	if path == "" || path == "/" {
		return true
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(path, "/")[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}
