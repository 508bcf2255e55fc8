package front

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestRefused: what is refused is answered so, reaches no handler, and ends the
// connection, whatever comes behind it.
func TestRefused(t *testing.T) {
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a handler got %s %s %v", r.Method, r.RequestURI, r.Header)
	})
	const chunked = "Transfer-Encoding: chunked\r\n"
	for _, c := range []struct {
		name, request string
		status        int
		text          string
	}{
		{"HTTP/0.9", "GET /\r\n\r\n", 400, "malformed HTTP request line"},
		{"small letters", "GET / http/1.1\r\nHost: h\r\n\r\n", 400, "malformed HTTP version"},
		{"two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400, ""},
		{"a space first", " GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400, "invalid method"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n", 505, ""},
		{"HTTP/2 whole", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, ""},
		{"TLS", "\x16\x03\x01\x00\n\n", 400, ""},
		{"five line ends", "\r\n\r\n\r\n" + get + "\r\n", 400, ""},
		{"CR in the target", "GET /\r HTTP/1.1\r\nHost: h\r\n\r\n", 400, ""},
		{"bad escape", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400, "malformed request target"},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
		{"two Hosts", get + "Host: h\r\n\r\n", 400, "too many Host headers"},
		{"bad Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "malformed Host header"},
		{"bad host in the target", "GET http://a\"b/ HTTP/1.1\r\nHost: h\r\n\r\n", 400, "malformed host"},
		{"folded", get + "A: b\r\n c\r\n\r\n", 400, "malformed header line"},
		{"folded to hide", get + "A: b\r\n " + chunked + "\r\n", 400, "invalid header name"},
		{"space before colon", get + "A : b\r\n\r\n", 400, "invalid header name"},
		{"space before chunked", put + "Transfer-Encoding : chunked\r\n\r\n", 400, "invalid header name"},
		{"no colon", get + "A\r\n\r\n", 400, "malformed header line"},
		{"no name", get + ": a\r\n\r\n", 400, "invalid header name"},
		{"NUL", get + "A: \x00\r\n\r\n", 400, "invalid header value"},
		{"CR", get + "A: b\rContent-Length: 5\r\n\r\n", 400, "invalid header value"},
		{"CR at the end", put + "Transfer-Encoding: chunked\r\r\n\r\n", 400, "invalid header value"},
		{"CR at the beginning", put + "Transfer-Encoding:\rchunked\r\n\r\n", 400, "invalid header value"},
		{"CR behind a length", put + "Content-Length: 0\r\r\n\r\n", 400, "invalid header value"},
		{"VT", put + "Transfer-Encoding: \x0bchunked\r\n\r\n", 400, "invalid header value"},
		{"FF", put + "Transfer-Encoding: chunked\x0c\r\n\r\n", 400, "invalid header value"},
		{"Kelvin", put + "Transfer-Encoding: chun\u212aed\r\n\r\n0\r\n\r\n", 501, ""},
		{"non-breaking space", put + "Transfer-Encoding: \u00a0chunked\r\n\r\n", 501, ""},
		{"another coding", put + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, ""},
		{"identity", put + "Transfer-Encoding: identity\r\n\r\n", 501, ""},
		{"empty coding", put + "Transfer-Encoding:\r\n\r\n", 501, ""},
		{"chunked, twice", put + chunked + chunked + "\r\n", 501, ""},
		{"chunked, and another", put + chunked + "Transfer-Encoding: x\r\n\r\n", 501, ""},
		{"two lengths", put + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, "too many Content-Length"},
		{"the same length twice", put + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400, "too many Content-Length"},
		{"a list of lengths", put + "Content-Length: 5, 5\r\n\r\n", 400, "bad Content-Length"},
		{"plus", put + "Content-Length: +5\r\n\r\n", 400, "bad Content-Length"},
		{"minus", put + "Content-Length: -5\r\n\r\n", 400, "bad Content-Length"},
		{"hex", put + "Content-Length: 0x5\r\n\r\n", 400, "bad Content-Length"},
		{"spaces in it", put + "Content-Length: 1 0\r\n\r\n", 400, "bad Content-Length"},
		{"empty length", put + "Content-Length:\r\n\r\n", 400, "bad Content-Length"},
		{"2^63", put + "Content-Length: 9223372036854775808\r\n\r\n", 400, "bad Content-Length"},
		{"bad length beside chunked", put + chunked + "Content-Length: x\r\n\r\n", 400, "bad Content-Length"},
		{"length in the trailer", put + chunked + "Trailer: content-length\r\n\r\n", 400, "bad trailer name"},
		{"expectation", put + "Expect: 200-ok\r\n\r\n", 417, "100-continue"},
		{"too large", get + "A: " + strings.Repeat("b", 64<<10) + "\r\n\r\n", 431, ""},
		{"too large without end", get + strings.Repeat("A: b\r\n", 11000), 431, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := w.dial()
			conn.t = t
			conn.send(c.request + get + "\r\n")
			if res := conn.gets(c.status, c.text); !res.Close {
				t.Error("it does not say that the connection ends")
			}
			conn.closed()
		})
	}
}

// TestTaken: what is odd but clear is taken as net/http's server takes it, and
// the next request is found behind it.
func TestTaken(t *testing.T) {
	for _, c := range []struct {
		name, request string
		want          string // method target host body
	}{
		{"line ends before", "\r\n\r\n" + get + "\r\n", "GET / h "},
		{"LF alone", "PUT / HTTP/1.1\nHost: h\nContent-Length: 2\n\nab", "PUT / h ab"},
		{"mixed ends", "PUT / HTTP/1.1\nHost: h\r\nContent-Length: 2\n\r\nab", "PUT / h ab"},
		{"absolute", "GET http://other:1/a HTTP/1.1\r\nHost: h\r\n\r\n", "GET http://other:1/a other:1 "},
		{"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /  "},
		{"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", "GET / h "},
		{"zeros", put + "Content-Length: 002\r\n\r\nab", "PUT /a h ab"},
		{"small letters", put + "transfer-encoding: CHUNKED\r\n\r\n2\r\nab\r\n0\r\n\r\n", "PUT /a h ab"},
		{"extensions", te + "\r\n1;a=\"b\"\r\na\r\n1 ; x\r\nb\r\n0;y\r\n\r\n", "PUT /a h ab"},
		{"white space behind a size", te + "\r\n2 \t\r\nab\r\n0\r\n\r\n", "PUT /a h ab"},
		{"obs-text", get + "A: \xff\r\n\r\n", "GET / h "},
		{"HTTP/1.0 kept", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET /  "},
		{"a body of GET", get + "Content-Length: 2\r\n\r\nab", "GET / h ab"},
		{"names with odd letters", get + "content_length: 5\r\nX!#$%&'*+-.^_`|~: a\r\n\r\n", "GET / h "},
	} {
		t.Run(c.name, func(t *testing.T) {
			for split := range 4 {
				w := &wire{in: []byte(c.request + "DELETE /next HTTP/1.1\r\nHost: h\r\n\r\n"), split: split}
				var all []string
				w.over(func(_ http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Errorf("reading the body: %v", err)
					}
					all = append(all, r.Method+" "+r.RequestURI+" "+r.Host+" "+string(body))
				})
				if got := strings.Join(all, "\n"); got != c.want+"\nDELETE /next h " {
					t.Errorf("got %q, want %q and the next one", got, c.want)
				}
			}
		})
	}
}
