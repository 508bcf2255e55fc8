package main

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"fencegate/lockclient"
)

// helper adds the lock's token to the requests of programs that cannot do so
// themselves. It is an HTTP server on a loopback port that only who knows its
// secret can use, with two faces: FENCEGATE_URL stands for the fence and is put
// in front of paths, and as a forward proxy it is asked for URLs of the fence.
//
// Only requests to what is locked get the token, and only while the lease
// holds. Other reads pass as they are, and so do claims and requests that bring
// a token of their own; other writes are refused.
type helper struct {
	lock   *lockclient.Lock
	fence  *url.URL
	secret string
	addr   string
	server *http.Server
	// base reaches the fence. A connection serves one request: on a kept one
	// that dies net/http would send some requests once more.
	base *http.Transport
	// others takes what a forward proxy is asked for elsewhere; nil: nothing.
	others *http.Transport
}

// startHelper starts a helper for what is written under lock. With forward it is
// a forward proxy too.
func startHelper(lock *lockclient.Lock, fence string, forward bool) (*helper, error) {
	u, err := url.Parse(strings.TrimSuffix(fence, "/"))
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port on 127.0.0.1 for FENCEGATE_URL: %w", err)
	}
	h := &helper{lock: lock, fence: u, secret: rand.Text(), addr: l.Addr().String()}
	h.base = http.DefaultTransport.(*http.Transport).Clone()
	h.base.DisableKeepAlives = true
	h.base.Proxy = nil // which may be another helper, of a lock around this one
	if forward {
		h.others = http.DefaultTransport.(*http.Transport).Clone()
		h.others.Proxy = nil
	}
	h.server = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // it would quote paths, and so the secret
	}
	go func() { _ = h.server.Serve(l) }()
	return h, nil
}

// close cuts what is in progress.
func (h *helper) close() {
	_ = h.server.Close()
	h.base.CloseIdleConnections()
	if h.others != nil {
		h.others.CloseIdleConnections()
	}
}

func (h *helper) url() string { return "http://" + h.addr + "/" + h.secret }

// environment is what tells a program of the helper.
func (h *helper) environment() map[string]string {
	env := map[string]string{"FENCEGATE_URL": h.url()}
	if h.others != nil {
		proxy := "http://fencegate:" + h.secret + "@" + h.addr
		// curl reads it in small letters only: CGI sets the other from a header.
		env["http_proxy"], env["HTTP_PROXY"] = proxy, proxy
	}
	return env
}

// ServeHTTP implements http.Handler.
func (h *helper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.RequestURI == "/"+h.secret+heldPath {
		h.tellHeld(w)
		return
	}
	target, transport, err := h.target(r)
	if err != nil {
		var no *helperRefusal
		if !errors.As(err, &no) {
			no = &helperRefusal{http.StatusBadRequest, err.Error()}
		}
		no.write(w)
		return
	}
	p := httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = target, ""
			pr.Out.Header.Del("Proxy-Authorization")
			h.toFence(pr.Out.Header)
		},
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: h.fromFence(r),
		ErrorHandler:   answerError,
		ErrorLog:       h.server.ErrorLog,
	}
	p.ServeHTTP(w, r)
}

// tellHeld answers whether the lease holds, for a fencegate lock within this one.
func (h *helper) tellHeld(w http.ResponseWriter) {
	if err := h.lock.Err(); err != nil {
		(&helperRefusal{http.StatusGone, err.Error()}).write(w)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// target finds out what a request is for and how it gets there.
func (h *helper) target(r *http.Request) (*url.URL, http.RoundTripper, error) {
	if r.Method == http.MethodConnect {
		return nil, nil, &helperRefusal{http.StatusMethodNotAllowed, "CONNECT: what is said in a tunnel could not be given a token."}
	}
	if !strings.HasPrefix(r.RequestURI, "/") {
		return h.forwardTarget(r)
	}
	rest, ok := h.cutSecret(r.RequestURI)
	if !ok {
		return nil, nil, &helperRefusal{http.StatusNotFound, "Put $FENCEGATE_URL in front of the path, as it is."}
	}
	u, err := url.Parse(h.fence.String() + rest)
	if err != nil {
		return nil, nil, err
	}
	return u, h.transport(r, u), nil
}

// cutSecret returns what stands behind the secret in a target or path.
func (h *helper) cutSecret(target string) (rest string, ok bool) {
	n := 1 + len(h.secret)
	if len(target) < n || subtle.ConstantTimeCompare([]byte(target[1:n]), []byte(h.secret)) != 1 {
		return "", false
	}
	switch rest = target[n:]; {
	case rest == "" || rest[0] == '?':
		return "/" + rest, true
	case rest[0] != '/':
		return "", false
	}
	return rest, true
}

// forwardTarget is target for what comes to a forward proxy.
func (h *helper) forwardTarget(r *http.Request) (*url.URL, http.RoundTripper, error) {
	if h.others == nil {
		return nil, nil, &helperRefusal{http.StatusNotFound, "This is no forward proxy; fencegate lock --http-proxy makes one."}
	}
	user, password, ok := proxyAuth(r)
	if !ok || user != "fencegate" || subtle.ConstantTimeCompare([]byte(password), []byte(h.secret)) != 1 {
		return nil, nil, &helperRefusal{http.StatusProxyAuthRequired, "Use http_proxy as it is set."}
	}
	u, err := url.Parse(r.RequestURI)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, nil, &helperRefusal{http.StatusBadRequest, "The target is no http URL."}
	}
	if !sameOrigin(u, h.fence) {
		return u, h.others, nil
	}
	return u, h.transport(r, u), nil
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

// transport returns the way to the fence: through the lock, which adds the
// token, unless the request is a claim or has one.
func (h *helper) transport(r *http.Request, u *url.URL) http.RoundTripper {
	if r.Header["X-Fencing-Token"] != nil || strings.HasPrefix(u.Path, "/.well-known/fencegate/") {
		return h.base
	}
	return h.lock.Transport(h.base)
}

// toFence makes a Destination that names the helper name the fence.
func (h *helper) toFence(header http.Header) {
	for i, d := range header["Destination"] {
		if rest, ok := strings.CutPrefix(d, "http://"+h.addr); ok {
			d = rest
		}
		if rest, ok := h.cutSecret(d); ok {
			header["Destination"][i] = h.fence.String() + rest
		}
	}
}

// fromFence makes the Location of an answer name what the client asked.
func (h *helper) fromFence(r *http.Request) func(*http.Response) error {
	if !strings.HasPrefix(r.RequestURI, "/") {
		return nil
	}
	return func(res *http.Response) error {
		for _, name := range []string{"Location", "Content-Location"} {
			to := res.Header.Get(name)
			if u, err := url.Parse(to); err != nil || u.Host != "" && !sameOrigin(u, h.fence) {
				continue
			}
			to = strings.TrimPrefix(to, h.fence.String())
			if strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
				res.Header.Set(name, h.url()+to)
			}
		}
		return nil
	}
}
