package dav

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Ref is a URL as WebDAV gives it, RFC 4918 section 8.3: absolute, or an
// absolute path on the server that is asked.
type Ref struct {
	// Origin is scheme://host or scheme://host:port in lower case, without the
	// scheme's own port; empty for a path alone.
	Origin string
	// Path is escaped, byte for byte as it came. It begins with a slash.
	Path string
}

// String returns the URL.
func (r Ref) String() string { return r.Origin + r.Path }

// ParseRef reads a URL. It has no query or fragment: they name no object.
func ParseRef(s string) (Ref, error) {
	if i := strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' || c == '"' || c == '<' || c == '>' }); i >= 0 {
		return Ref{}, fmt.Errorf("the URL contains %q", s[i])
	}
	if strings.ContainsAny(s, "?#") {
		return Ref{}, errors.New("the URL has a query or a fragment; write %3F or %23 in names")
	}
	switch {
	case s == "":
		return Ref{}, errors.New("the URL is empty")
	case strings.HasPrefix(s, "//"):
		// A host without scheme (RFC 3986 section 4.2), or an empty segment.
		return Ref{}, errors.New(`the URL begins with "//", which servers read differently`)
	case s[0] == '/':
		return Ref{Path: s}, nil
	}
	scheme, rest, found := strings.Cut(s, "://")
	if scheme = strings.ToLower(scheme); !found || scheme != "http" && scheme != "https" {
		return Ref{}, errors.New("the URL is neither http, nor https, nor an absolute path")
	}
	host, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	origin, err := originOf(scheme, host)
	return Ref{Origin: origin, Path: path}, err
}

// originOf puts scheme and host into the one form that is compared.
func originOf(scheme, host string) (string, error) {
	u, err := url.Parse(scheme + "://" + host)
	switch {
	case err != nil || u.Host != host || u.Hostname() == "" || strings.Contains(host, "%"):
		return "", fmt.Errorf("the URL has the host %q", host)
	case u.User != nil:
		return "", errors.New("the URL has a user name or password")
	}
	name, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" && strings.HasSuffix(host, ":") {
		port = "" // "host:" is the same as "host"
	}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	}
	if port != "" {
		return scheme + "://" + net.JoinHostPort(name, port), nil
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return scheme + "://" + name, nil
}
