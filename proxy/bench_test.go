package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/fence"
	"fencegate/proxy/protocol"
	"fencegate/proxy/upstream/remote"
	"fencegate/store/memory"
)

var benchBody = bytes.Repeat([]byte("x"), 1<<10)

// benchProxy returns a proxy in which /a has the mark 5.
func benchProxy(b testing.TB, store Upstream) *Proxy {
	b.Helper()
	gate, err := fence.Start(b.Context(), memory.New(fence.Meta{Clean: true}), fence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(gate, protocol.Plain{}, store, Options{
		Rest: Route{Policy: fence.Require}, SpoolDir: b.TempDir(), Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = gate.Stop(context.Background())
		p.Close()
	})
	w := &benchWriter{header: http.Header{}}
	p.ServeHTTP(w, benchRequest(5))
	if w.status != http.StatusNoContent {
		b.Fatalf("the first write is answered %d", w.status)
	}
	return p
}

func benchRequest(token int) *http.Request {
	r := httptest.NewRequest("PUT", "/a", bytes.NewReader(benchBody))
	r.Header.Set("X-Fencing-Token", strconv.Itoa(token))
	r.Header.Set("Content-Type", "application/octet-stream")
	return r
}

// benchStore answers writes at once.
type benchStore struct{ Upstream }

func (benchStore) Write(_ context.Context, _ *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error) {
	if n, err := io.Copy(io.Discard, body); err != nil || n != size {
		return nil, fence.Uncertain, fmt.Errorf("%d bytes instead of %d: %w", n, size, err)
	}
	return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody}, fence.Definite, nil
}

// benchWriter takes an answer and forgets it.
type benchWriter struct {
	header http.Header
	status int
}

func (w *benchWriter) Header() http.Header              { return w.header }
func (w *benchWriter) WriteHeader(status int)           { w.status = status }
func (w *benchWriter) Write(b []byte) (int, error)      { return len(b), nil }
func (w *benchWriter) SetReadDeadline(time.Time) error  { return nil }
func (w *benchWriter) SetWriteDeadline(time.Time) error { return nil }
func (w *benchWriter) FlushError() error                { return nil }

// arrived is a body that has come with its head, as small ones do.
type arrived struct{ *bytes.Reader }

func (a arrived) Buffered() int64 { return int64(a.Len()) }
func (arrived) Close() error      { return nil }

// benchHandler returns one request to a proxy without a server and a store.
func benchHandler(b testing.TB, token, status int) func() {
	p := benchProxy(b, benchStore{})
	r := benchRequest(token)
	body := bytes.NewReader(nil)
	r.Body = arrived{body}
	tokens := r.Header[headerToken]
	w := &benchWriter{header: http.Header{}}
	return func() {
		body.Reset(benchBody)
		r.Header[headerToken] = tokens // which is not passed on
		clear(w.header)
		w.status = 0
		p.ServeHTTP(w, r)
		if w.status != status {
			b.Fatalf("answered %d, want %d", w.status, status)
		}
	}
}

// BenchmarkHead is what it takes to understand a head: its target and all of the
// fence's headers.
func BenchmarkHead(b *testing.B) {
	read := benchUnderstand(b)
	b.ReportAllocs()
	for b.Loop() {
		read()
	}
}

func benchUnderstand(b testing.TB) func() {
	p := benchProxy(b, benchStore{})
	r := benchRequest(5)
	r.Header[headerOwner], r.Header[headerClient] = []string{"9f86d081884c7d65"}, []string{"host1/4711/nightly"}
	q := new(request)
	return func() {
		*q = request{}
		if ref := p.understand(q, r); ref != nil {
			b.Fatal(ref)
		}
	}
}

// BenchmarkHandler is what the proxy itself costs a PUT of 1 KiB, without
// a server around it and without a store behind it.
func BenchmarkHandler(b *testing.B) {
	for _, c := range []struct {
		name          string
		token, status int
	}{
		{"known token", 5, http.StatusNoContent},
		{"stale token", 4, http.StatusPreconditionFailed},
	} {
		b.Run(c.name, func(b *testing.B) {
			serve := benchHandler(b, c.token, c.status)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}

// BenchmarkConnections is a PUT of 1 KiB over 64 connections and loopback to an
// HTTP store: what users see, but for the ledger. Client and store allocate
// next to nothing, so what is reported is the server's, the proxy's and the
// upstream's.
func BenchmarkConnections(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go benchSink(l)
	store, err := remote.Open("http://"+l.Addr().String(), remote.Options{Idle: 2 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := NewServer(benchProxy(b, store), slog.New(slog.DiscardHandler))
	go server.Serve(clients)
	defer server.Close()

	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", clients.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		// An object for each connection: the writes of one would take turns.
		request := fmt.Appendf(nil, "PUT /a/%d HTTP/1.1\r\nHost: fence.test\r\nX-Fencing-Token: 5\r\nContent-Length: %d\r\n\r\n%s",
			conn.LocalAddr().(*net.TCPAddr).Port, len(benchBody), benchBody)
		in := bufio.NewReader(conn)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			if status, err := benchHead(in); err != nil || !status {
				b.Errorf("not answered 204: %v", err)
				return
			}
		}
	})
}

// benchSink answers every request of l's connections with 204. All have a body
// of benchBody's length.
func benchSink(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			in := bufio.NewReader(conn)
			for {
				if _, err := benchHead(in); err != nil {
					return
				}
				if _, err := in.Discard(len(benchBody)); err != nil {
					return
				}
				if _, err := io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
					return
				}
			}
		}()
	}
}

// benchHead reads up to the empty line, and reports whether the first line is
// that of a 204.
func benchHead(in *bufio.Reader) (stored bool, err error) {
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		switch {
		case err != nil:
			return false, err
		case first:
			stored = bytes.HasPrefix(line, []byte("HTTP/1.1 204 "))
		case len(line) <= len("\r\n"):
			return stored, nil
		}
	}
}
