package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
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
// a token of their own; other writes are refused. Path and query go on byte for
// byte, bodies as they come. It logs nothing.
type helper struct {
	lock   *lockclient.Lock
	fence  *url.URL
	secret string
	addr   string
	server *http.Server
	base   *http.Transport // reaches the fence
	others *http.Transport // takes what a forward proxy is asked for elsewhere; nil: nothing
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
	h := &helper{lock: lock, fence: u, secret: rand.Text(), addr: l.Addr().String(), base: onceOnly()}
	if forward {
		h.others = http.DefaultTransport.(*http.Transport).Clone() // through the proxy that there was before
		h.others.DisableCompression = true
	}
	h.server = &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            10 * time.Second,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(io.Discard, "", 0), // it would quote paths, and so the secret
	}
	go func() { _ = h.server.Serve(l) }()
	return h, nil
}

// onceOnly returns a way to the fence on which a request is sent once, and both
// bodies pass as they are. On a kept connection that dies net/http sends some
// requests once more. A proxy could do so, too; the one in the environment may
// be the helper of a lock around this one.
func onceOnly() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	t.DisableCompression = true // else answers are unpacked
	t.Proxy = nil
	// By HTTP/2 it may send a request again, too, and a clone is made ready for that.
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.ForceAttemptHTTP2, t.TLSNextProto, t.TLSClientConfig = false, nil, nil
	return t
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
	// Else net/http reads on before it answers what is refused early.
	_ = http.NewResponseController(w).EnableFullDuplex()
	t, no := h.target(r)
	switch {
	case no != nil:
		no.write(w)
		return
	case t.held:
		h.tellHeld(w)
		return
	}
	var sent atomic.Bool
	p := httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = t.url, ""
			pr.Out.Header.Del("Proxy-Authorization")
			h.toFence(pr.In, pr.Out.Header)
			if m := pr.In.Method; t.asPath && m != http.MethodGet && m != http.MethodHead {
				pr.Out.Header.Del("Accept-Encoding") // hrefs are to be read
			}
			pr.Out = pr.Out.WithContext(httptrace.WithClientTrace(pr.Out.Context(), &httptrace.ClientTrace{
				WroteHeaders: func() { sent.Store(true) },
			}))
		},
		Transport:     t.via,
		FlushInterval: -1,
		ModifyResponse: func(res *http.Response) error {
			if t.asPath {
				h.fromFence(res.Header)
				h.hrefsFromFence(res)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { answerError(w, r, err, sent.Load()) },
		ErrorLog:     h.server.ErrorLog,
	}
	p.ServeHTTP(oneContinue{w}, r)
}

// oneContinue leaves "100 Continue" to net/http, which sends it when the body is
// read: that is when the fence has asked for it. The fence's own would be a second.
type oneContinue struct{ http.ResponseWriter }

func (w oneContinue) WriteHeader(status int) {
	if status != http.StatusContinue {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap is for http.ResponseController.
func (w oneContinue) Unwrap() http.ResponseWriter { return w.ResponseWriter }
