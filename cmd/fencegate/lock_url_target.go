package main

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

// target is what a request to the helper is for and how it gets there.
type target struct {
	url    *url.URL
	via    http.RoundTripper
	asPath bool // the client has asked for a path behind FENCEGATE_URL
	held   bool // the question whether the lease holds
}

// target finds out what a request is for.
func (h *helper) target(r *http.Request) (target, *helperRefusal) {
	if r.Method == http.MethodConnect {
		return target{}, &helperRefusal{http.StatusMethodNotAllowed, "CONNECT: what is said in a tunnel could not be given a token."}
	}
	for name := range strings.SplitSeq(strings.Join(r.Header["Connection"], ","), ",") {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(name)), "x-fencing-") {
			return target{}, &helperRefusal{http.StatusBadRequest, "Connection names a header of the fence, which would not reach it."}
		}
	}
	if strings.HasPrefix(r.RequestURI, "/") {
		return h.behindSecret(r, r.RequestURI)
	}
	return h.asProxy(r)
}

// behindSecret is target for a path that begins with the secret.
func (h *helper) behindSecret(r *http.Request, path string) (target, *helperRefusal) {
	rest, ok := h.cutSecret(path)
	if !ok {
		return target{}, &helperRefusal{http.StatusNotFound, "Put $FENCEGATE_URL in front of the path, as it is."}
	}
	t := target{asPath: true, held: rest == heldPath}
	var no *helperRefusal
	t.url, t.via, no = h.atFence(r, rest)
	return t, no
}

// cutSecret returns what stands behind the secret in a target or path.
func (h *helper) cutSecret(path string) (rest string, ok bool) {
	n := 1 + len(h.secret)
	if len(path) < n || path[0] != '/' || subtle.ConstantTimeCompare([]byte(path[1:n]), []byte(h.secret)) != 1 {
		return "", false
	}
	switch rest = path[n:]; {
	case rest == "" || rest[0] == '?':
		return "/" + rest, true
	case rest[0] != '/':
		return "", false
	}
	return rest, true
}

// asProxy is target for what comes to a forward proxy. A program that uses
// http_proxy may ask for FENCEGATE_URL there.
func (h *helper) asProxy(r *http.Request) (target, *helperRefusal) {
	if h.others == nil {
		return target{}, &helperRefusal{http.StatusNotFound, "This is no forward proxy; fencegate lock --http-proxy makes one."}
	}
	user, password, ok := proxyAuth(r)
	if !ok || user != "fencegate" || subtle.ConstantTimeCompare([]byte(password), []byte(h.secret)) != 1 {
		return target{}, &helperRefusal{http.StatusProxyAuthRequired, "Use http_proxy as it is set."}
	}
	u, err := url.Parse(r.RequestURI)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return target{}, &helperRefusal{http.StatusBadRequest, "The target is no http URL."}
	}
	path := pathOf(r.RequestURI)
	switch {
	case u.Host == h.addr:
		return h.behindSecret(r, path)
	case !sameOrigin(u, h.fence):
		u.User = nil
		return target{url: u, via: h.others}, nil
	}
	var t target
	var no *helperRefusal
	t.url, t.via, no = h.atFence(r, path)
	return t, no
}

// pathOf returns path and query of an absolute URL as they are written.
func pathOf(absolute string) string {
	_, rest, _ := strings.Cut(absolute, "://")
	switch i := strings.IndexAny(rest, "/?"); {
	case i < 0:
		return "/"
	case rest[i] == '?':
		return "/" + rest[i:]
	default:
		return rest[i:]
	}
}

// atFence returns the URL of a path and query at the fence, and the way there:
// through the lock, which adds the token, unless the request is a claim or
// brings one.
func (h *helper) atFence(r *http.Request, path string) (*url.URL, http.RoundTripper, *helperRefusal) {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, nil, &helperRefusal{http.StatusBadRequest, "The target is no path of a URL."}
	}
	u.Scheme, u.Host = h.fence.Scheme, h.fence.Host
	way := exactly{h.base, path}
	if r.Header["X-Fencing-Token"] != nil || strings.HasPrefix(u.Path, "/.well-known/fencegate/") {
		return u, way, nil
	}
	return u, h.lock.Transport(way), nil
}

// exactly sends a request for path and query as they are written: net/url
// escapes some characters anew.
type exactly struct {
	base http.RoundTripper
	path string
}

// RoundTrip implements http.RoundTripper.
func (e exactly) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(e.path, "//") { // net/url would take it for a host
		return e.base.RoundTrip(r)
	}
	out, u := *r, *r.URL
	u.Opaque, u.RawQuery, u.ForceQuery = e.path, "", false
	out.URL = &u
	return e.base.RoundTrip(&out)
}

// proxyAuth reads Proxy-Authorization as net/http reads Authorization.
func proxyAuth(r *http.Request) (user, password string, ok bool) {
	like := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	return like.BasicAuth()
}

func sameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if u.Port() == "" {
			return map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return u.Port()
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}
