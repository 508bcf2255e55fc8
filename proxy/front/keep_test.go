package front

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

const pipelined = "PUT /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello" +
	"\r\nPUT /2 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n5;x\r\nhello\r\n1\r\n!\r\n0\r\nT: t\r\n\r\n" +
	"GET /3 HTTP/1.1\nHost: h\n\n" +
	"HEAD /4 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /no HTTP/1.1\r\nHost: h\r\n\r\n"

// TestPipelined: requests that come together, or split anywhere, are answered in
// order, up to the one that ends the connection.
func TestPipelined(t *testing.T) {
	for cut := range len(pipelined) {
		w := &wire{in: []byte(pipelined), cut: cut}
		w.over(func(rw http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Errorf("cut at %d: %v", cut, err)
			}
			_, _ = io.WriteString(rw, r.URL.Path+" "+string(body)+" "+r.Trailer.Get("T"))
		})
		in := bufio.NewReader(&w.out)
		for i, want := range []string{"/1 hello ", "/2 hello! t", "/3  ", ""} {
			method := []string{"PUT", "PUT", "GET", "HEAD"}[i]
			res := readFinal(t, in, method)
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != want || res.Close != (i == 3) {
				t.Fatalf("cut at %d: answer %d: %q, %v, close: %v", cut, i, body, err, res.Close)
			}
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Fatalf("cut at %d: %q", cut, rest)
		}
	}
}

// TestUnreadBodyIsNoRequest: what the handler leaves of a body, however little,
// ends the connection; the client can read the answer although it still sends.
func TestUnreadBodyIsNoRequest(t *testing.T) {
	hidden := "DELETE /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
	chunk := strconv.FormatInt(int64(len(hidden)), 16) + "\r\n" + hidden + "\r\n0\r\n\r\n"
	w := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == "DELETE" {
			t.Error("a body was taken for a request")
		}
		n, _ := strconv.ParseInt(r.Header.Get("Read"), 10, 64)
		if _, err := io.CopyN(io.Discard, r.Body, n); err != nil {
			t.Errorf("reading %d: %v", n, err)
		}
		_, _ = io.WriteString(rw, strings.Repeat("a", 100<<10))
	})
	for _, read := range []int{0, 1, len(hidden) - 1, len(hidden)} {
		head := put + "Read: " + strconv.Itoa(read) + "\r\n"
		if read < len(hidden) {
			c := w.dial().send(head + "Content-Length: " + strconv.Itoa(len(hidden)) + "\r\n\r\n" + hidden + hidden)
			c.gets(200, "a")
			c.closed()
		}
		// Of chunks the end has to be read.
		c := w.dial().send(head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + hidden)
		c.gets(200, "a")
		c.closed()
	}
	c := w.dial().send(put + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("x", 200<<10))
	harness.Eventually(t, "the server closes", func() (any, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.conns), len(w.conns) == 0
	})
	c.gets(200, "a") // no reset has overtaken it
	c.closed()
}

// TestWhatEndsAConnection: both framings, HTTP/1.0 and Connection.
func TestWhatEndsAConnection(t *testing.T) {
	w := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/closes" {
			rw.Header().Set("Connection", "Close")
		}
		_, _ = rw.Write(body)
	})
	for _, c := range []struct {
		request, body string
		kept          bool
	}{
		{get + "\r\n", "", true},
		{get + "Connection: foo, close\r\n\r\n", "", false},
		{"GET /closes HTTP/1.1\r\nHost: h\r\n\r\n", "", false},
		{put + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", false},
		{put + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", false},
		{"GET / HTTP/1.0\r\n\r\n", "", false},
		{"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "", true},
		{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "", false},
		{"PUT / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab", "ab", false}, // no length of the answer
		{"PUT / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "", false},
		{"PUT / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nab", "ab", false},
	} {
		conn := w.dial().send(c.request)
		res, body := conn.answer("GET")
		if body != c.body || res.Close == c.kept {
			t.Errorf("%q: answered %q, close: %v", c.request, body, res.Close)
		}
		if !c.kept {
			conn.closed()
			continue
		}
		conn.send(get+"\r\n").gets(200, "")
	}
}
