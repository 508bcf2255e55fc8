package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A sink is the store behind all proxies. It takes PUTs, whose bodies it throws
// away, answers GETs with 1 KiB, keeps connections open, and counts the writes
// that it has taken whole.
//
// There are two, chosen by -store: httpSink, on net/http as many a small store is,
// and lightSink, which costs less, so that the proxies are more of what is
// measured.

// The kinds of sinks, as -store names them.
const (
	storeHTTP  = "http"
	storeLight = "light"
)

// countPath is where GET tells the counts, as "writes bytes", and kibLen the
// length of every other answer to GET.
const (
	countPath = "/count"
	kibLen    = 1 << 10
)

// stored is what a sink has stored so far.
type stored struct {
	writes atomic.Int64
	bytes  atomic.Int64 // of their bodies
}

func (s *stored) add(bytes int64) {
	s.bytes.Add(bytes)
	s.writes.Add(1)
}

func (s *stored) String() string { return fmt.Sprintf("%d %d", s.writes.Load(), s.bytes.Load()) }

// serveSink answers the connections of l until it is closed.
func serveSink(l net.Listener, kind string) error {
	switch kind {
	case storeHTTP:
		server := &http.Server{Handler: newHTTPSink(), IdleTimeout: 10 * time.Minute}
		return server.Serve(l)
	case storeLight:
		return new(lightSink).serve(l)
	}
	return fmt.Errorf("no such store: %q", kind)
}

// httpSink is the sink on net/http.
type httpSink struct {
	stored
	buffers sync.Pool
	kib     []byte
}

func newHTTPSink() *httpSink {
	return &httpSink{kib: make([]byte, kibLen), buffers: sync.Pool{New: func() any { return new([64 << 10]byte) }}}
}

func (s *httpSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		if r.URL.Path == countPath {
			_, _ = io.WriteString(w, s.String())
			return
		}
		_, _ = w.Write(s.kib)
		return
	case http.MethodPut:
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	buffer := s.buffers.Get().(*[64 << 10]byte)
	defer s.buffers.Put(buffer)
	var length int64
	for {
		n, err := r.Body.Read(buffer[:])
		length += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // cut off: nothing is stored
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	s.add(length)
	w.WriteHeader(http.StatusNoContent)
}
