package front

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// TestNothingIsLeftOfARequest: whatever a handler does with a request and its
// answer, the next one of the connection is as new.
func TestNothingIsLeftOfARequest(t *testing.T) {
	mux := http.NewServeMux()
	calls := 0
	mux.HandleFunc("POST /form/{name}", func(w http.ResponseWriter, r *http.Request) {
		calls++
		if r.FormValue("a") != "b" || r.PathValue("name") != "x" || r.Pattern == "" || r.Trailer != nil {
			t.Errorf("not what was sent: %v, %q, %q", r.Form, r.PathValue("name"), r.Pattern)
		}
		_, _ = io.ReadAll(r.Body)
		r.SetPathValue("other", "x")
		r.Method, r.Host, r.Close, r.RemoteAddr = "X", "x", true, "x"
		r.Header["Mine"] = []string{"a"}
		r.TransferEncoding = []string{"x"}
		r.Trailer = http.Header{"X": {"y"}}
		r.Header, r.URL, r.Body, r.ContentLength = nil, nil, nil, 9
		w.Header()["Mine"] = []string{"a"}
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusTeapot)
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		calls++
		if r.Form != nil || r.PostForm != nil || r.MultipartForm != nil || r.PathValue("name") != "" || r.PathValue("other") != "" || r.Pattern != "GET /" ||
			r.Method != "GET" || r.Host != "h" || r.Close || r.RemoteAddr == "x" || len(r.Header) != 0 || r.TransferEncoding != nil || r.Trailer != nil ||
			r.ContentLength != 0 || r.Body != http.NoBody || r.URL.String() != "/" || len(w.Header()) != 0 || r.Response != nil {
			t.Errorf("something is left: %+v", r)
		}
	})
	w := serve(t, mux.ServeHTTP)
	conn := w.dial()
	for _, form := range []string{"Content-Length: 3\r\n\r\na=b", "Transfer-Encoding: chunked\r\n\r\n3\r\na=b\r\n0\r\n\r\n", "Content-Length: 3\r\n" + strings.Repeat("A: b\r\n", 200) + "\r\na=b"} {
		conn.send("POST /form/x HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n" + form)
		if res := conn.gets(http.StatusTeapot, ""); res.Header.Get("Mine") != "a" || res.Header.Get("Date") != "" {
			t.Errorf("answered %v", res.Header)
		}
		conn.send(get + "\r\n")
		if res := conn.gets(200, ""); res.Header.Get("Mine") != "" || res.Header.Get("Date") == "" {
			t.Errorf("then %v", res.Header)
		}
	}
	if calls != 6 {
		t.Errorf("%d requests", calls)
	}
}

// TestHeadsOfAllSizes: up to the limit, however they come, one after the other,
// each as it was sent.
func TestHeadsOfAllSizes(t *testing.T) {
	const limit = 64 << 10
	var want string
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("A"); got != want {
			t.Errorf("got %d bytes of a header, want %d", len(got), len(want))
		}
	}, func(s *Server) { s.MaxHead = limit })
	conn := w.dial()
	rest := len(get + "A: \r\n\r\n")
	for _, size := range []int{rest, 4 << 10, 8<<10 - 1, 8 << 10, 8<<10 + 1, 16 << 10, 16<<10 + 1, 40 << 10, limit - 1, limit, 100} {
		want = strings.Repeat("a", size-rest)
		request := get + "A: " + want + "\r\n\r\n"
		conn.send(request).gets(200, "")
		for part := range strings.SplitAfterSeq(request, strings.Repeat("a", 3000)) {
			conn.send(part)
		}
		conn.gets(200, "")
		conn.send(request + request)
		conn.gets(200, "")
		conn.gets(200, "")
	}
	want = strings.Repeat("a", limit+1-rest)
	conn.send(get+"A: "+want+"\r\n\r\n").gets(http.StatusRequestHeaderFieldsTooLarge, "")
	conn.closed()

	small := &wire{in: []byte(get + "\r\n")}
	s := &Server{Handler: http.HandlerFunc(nothing), HeadTimeout: 1, IdleTimeout: 1, MaxHead: len(get) + 2}
	s.take(small).serve()
	large := &wire{in: []byte(get + "A: b\r\n\r\n")}
	s.take(large).serve()
	if !strings.HasPrefix(small.out.String(), "HTTP/1.1 200") || !strings.HasPrefix(large.out.String(), "HTTP/1.1 431") {
		t.Errorf("a small limit: answered %q and %q", small.out.String(), large.out.String())
	}
}

// TestIdleConnectionsKeepNoHead: a connection that waits for its next request has
// nothing of the last one in memory, whose strings are all pieces of its head.
func TestIdleConnectionsKeepNoHead(t *testing.T) {
	const conns, length = 64, 60 << 10
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
		func(s *Server) { s.IdleTimeout = time.Hour })
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools have goes with the second one
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	rest := "Long: " + strings.Repeat("x", length) + "\r\n"
	for _, request := range []string{
		get + "A: b\r\n" + rest + "\r\n",
		"PUT /escaped%20?query HTTP/1.1\r\nHost: h\r\n" + rest + "Transfer-Encoding: chunked\r\nTrailer: T\r\n\r\n1\r\na\r\n0\r\nT: t\r\n\r\n",
	} {
		idle := make([]*client, conns)
		for i := range idle {
			idle[i] = w.dial()
			idle[i].send(get+"\r\n").gets(200, "")
		}
		before := heap()
		for _, c := range idle {
			c.send(request).gets(200, "")
		}
		harness.Eventually(t, "less than a tenth of the heads is kept", func() (any, bool) {
			kept := heap() - before
			return kept, kept < conns*length/10
		})
	}
}
