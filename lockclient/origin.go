package lockclient

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// origin is scheme, host and port in one spelling (RFC 6454 section 4), so
// that two URLs of one server compare equal.
type origin struct{ scheme, host, port string }

func originOf(u *url.URL) origin {
	o := origin{
		scheme: strings.ToLower(u.Scheme),
		host:   strings.TrimSuffix(strings.ToLower(u.Hostname()), "."),
		port:   u.Port(),
	}
	if o.port == "" {
		switch o.scheme {
		case "http":
			o.port = "80"
		case "https":
			o.port = "443"
		}
	}
	return o
}

func parseOrigin(s string) (origin, error) {
	u, err := url.Parse(s)
	if err != nil {
		var uerr *url.Error
		if errors.As(err, &uerr) {
			err = uerr.Err // without the URL, which may hold a password
		}
		return origin{}, fmt.Errorf("not a URL: %w", err)
	}
	o := originOf(u)
	switch {
	case o.scheme != "http" && o.scheme != "https":
		return origin{}, errors.New("not an http:// or https:// URL")
	case o.host == "":
		return origin{}, errors.New("the URL has no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return origin{}, errors.New("the URL must not have user, query or fragment")
	case u.Path != "" && u.Path != "/":
		return origin{}, errors.New("the URL must not have a path: resources are paths from the root of the fence")
	}
	return o, nil
}

func (o origin) String() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return o.scheme + "://" + host + ":" + o.port
}
