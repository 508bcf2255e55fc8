package remote

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fencegate/fence"
)

// The store sees these bytes and no others.
func TestRequestBytes(t *testing.T) {
	for _, c := range []struct {
		name   string
		prefix string
		opts   Options
		r      *http.Request
		body   string
		want   string // {host} is the store's own
	}{
		{"put", "", Options{}, request("PUT", "/a"), "body",
			"PUT /a HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"host kept", "", Options{HostKeep: true}, request("PUT", "/a"), "body",
			"PUT /a HTTP/1.1\r\nHost: public.example\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"prefix", "/dav/%7Ex", Options{}, request("PUT", "/a"), "body",
			"PUT /dav/%7Ex/a HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"prefix with slash", "/dav/", Options{}, request("PUT", "/"), "body",
			"PUT /dav/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"escapes", "", Options{}, request("PUT", "/a%2520b"), "body",
			"PUT /a%2520b HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"needless escapes and a query", "/p", Options{}, request("PUT", "/%41?x=%41&y"), "body",
			"PUT /p/%41?x=%41&y HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"empty query", "/p", Options{}, request("PUT", "/a?"), "body",
			"PUT /p/a? HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"raw bytes", "", Options{}, request("PUT", "/ä\"<>^`{|}?ü=[%zz]"), "body",
			"PUT /ä\"<>^`{|}?ü=[%zz] HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"two slashes and dots", "", Options{}, request("PUT", "//a/../b"), "body",
			"PUT //a/../b HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"empty body of PUT", "", Options{}, request("PUT", "/a"), "",
			"PUT /a HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		{"empty body of POST", "", Options{}, request("POST", "/a"), "",
			"POST /a HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		{"no body of DELETE", "", Options{}, request("DELETE", "/a"), "",
			"DELETE /a HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"},
		{"body of DELETE", "", Options{}, request("DELETE", "/a"), "body",
			"DELETE /a HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
		{"headers", "", Options{}, request("MOVE", "/a", "Destination: http://h/b", "User-Agent: x/1", "Accept-Encoding: br", "If: (<t>)", "X-A: 1", "X-A: 2", "X-Empty: "), "",
			"MOVE /a HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: br\r\nDestination: http://h/b\r\nIf: (<t>)\r\nUser-Agent: x/1\r\nX-A: 1\r\nX-A: 2\r\nX-Empty: \r\nConnection: close\r\n\r\n"},
		{"framing of the client's", "", Options{}, request("PUT", "/a", "Content-Length: 99", "Transfer-Encoding: chunked", "Connection: upgrade, x", "Te: trailers", "Trailer: X", "Upgrade: h2c", "Expect: 100-continue", "Keep-Alive: 5", "Host: evil"), "body",
			"PUT /a HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var head, body string
			s := newStore(t, func(p *peer) {
				head, body = p.request()
				p.say("HTTP/1.1 204 Done\r\n\r\n")
				if n, _ := p.rest(); n != 0 {
					t.Errorf("%d bytes follow the request", n)
				}
			})
			u := open(t, s.url()+c.prefix, c.opts)
			got := u.try(t, c.r, c.body)
			s.stop()
			if want := strings.ReplaceAll(c.want, "{host}", s.Addr().String()); got.outcome != fence.Definite || inOrder(head) != inOrder(want) || body != c.body {
				t.Errorf("%v\ngot  %q %q\nwant %q %q", got, head, body, want, c.body)
			}
		})
	}
}

// inOrder sorts the lines of a head, but not those of one name: the order of
// different ones means nothing (RFC 9110 section 5.3).
func inOrder(head string) string {
	lines := strings.SplitAfter(head, "\r\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, ":")
		nameB, _, _ := strings.Cut(b, ":")
		return strings.Compare(nameA, nameB)
	})
	return strings.Join(lines, "")
}

// What would not stay one request is not sent at all.
func TestUnsendable(t *testing.T) {
	s := newStore(t, func(*peer) {})
	s.wants = 0
	u := open(t, s.url(), Options{})
	kept := open(t, s.url(), Options{HostKeep: true})
	split := request("PUT", "/a")
	split.Host = "h\r\nX-Evil: 1"
	for name, c := range map[string]struct {
		u *Remote
		r *http.Request
	}{
		"no target":          {u, request("PUT", "")},
		"absolute":           {u, request("PUT", "http://h/a")},
		"asterisk":           {u, request("OPTIONS", "*")},
		"blank in target":    {u, request("PUT", "/a HTTP/1.1")},
		"line end in target": {u, request("PUT", "/a\r\nX: 1")},
		"no method":          {u, request("", "/a")},
		"method":             {u, request("PUT /b", "/a")},
		"host":               {kept, split},
		"line end in header": {u, request("PUT", "/a", "X-A: 1\r\nX-B: 2")},
		"zero in header":     {u, request("PUT", "/a", "X-A: 1\x00")},
		"header name":        {u, request("PUT", "/a", "X A: 1")},
	} {
		if got := c.u.try(t, c.r, "body"); got.outcome != fence.NotSent || got.err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, outcome, err := u.Write(t.Context(), request("PUT", "/a"), strings.NewReader(""), -1); outcome != fence.NotSent || err == nil {
		t.Errorf("size -1: %v %v", outcome, err)
	}
}

func TestCompressedAnswerIsLeftAlone(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("done"))
	z.Close()
	answer := "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" +
		chunkOf(zipped.String()) + "0\r\n\r\n"
	s := newStore(t, answered(answer))
	got := open(t, s.url(), Options{}).try(t, request("POST", "/a", "Accept-Encoding: gzip"), "body")
	if got.body != zipped.String() || got.res.Header.Get("Content-Encoding") != "gzip" {
		t.Error(got)
	}
}
