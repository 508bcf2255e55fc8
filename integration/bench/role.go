package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// Roles are the servers that this program plays itself, in processes of their
// own so that their CPU time can be told apart.
const (
	roleSink     = "sink"
	roleHTTPUtil = "httputil"
	roleNaive    = "naive"
	roleBare     = "bare"
	roleRaise    = "raise"  // no server, but marks that are raised through a gate
	roleUpdate   = "update" // the same with bbolt alone
)

// listening is what a role prints, followed by its address.
const listening = "listening on "

// play serves until the process is ended. upstream is the store's host:port, for
// a role that has one, state the file or the directory that it keeps, and kind
// that of a sink.
func play(role, upstream, state, kind string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listening + l.Addr().String())
	switch role {
	case roleSink:
		return serveSink(l, kind)
	case roleRaise:
		on, err := openGate(context.Background(), state)
		if err != nil {
			return err
		}
		return serveRaises(l, on)
	case roleUpdate:
		on, err := openBare(state)
		if err != nil {
			return err
		}
		return serveRaises(l, on)
	case roleHTTPUtil:
		server := &http.Server{Handler: forwarder(upstream), IdleTimeout: 10 * time.Minute}
		return server.Serve(l)
	case roleNaive:
		fence, err := newNaive(state, forwarder(upstream))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: fence, IdleTimeout: 10 * time.Minute}
		return server.Serve(l)
	case roleBare:
		writers, err := newBare(state)
		if err != nil {
			return err
		}
		return writers.serve(l)
	}
	return fmt.Errorf("no such role: %q", role)
}

// forwarder is the standard library's proxy, tuned for one upstream: by default
// it keeps two idle connections to it and makes a new one for nearly every
// request.
func forwarder(upstream string) http.Handler {
	target := &url.URL{Scheme: "http", Host: upstream}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 256, IdleConnTimeout: 10 * time.Minute, DisableCompression: true, WriteBufferSize: 16 << 10,
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		},
		BufferPool: &buffers{sync.Pool{New: func() any { return new([32 << 10]byte) }}},
	}
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte  { return b.pool.Get().(*[32 << 10]byte)[:] }
func (b *buffers) Put(p []byte) { b.pool.Put((*[32 << 10]byte)(p)) }
