package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// Where servers differ on where a request ends, one of them takes a part of a
// body for a request. Shown: what could be read in two ways is refused and ends
// the connection; what cannot is stored as its sender meant it.
func TestHostileFraming(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	const head, whole = "PUT %s HTTP/1.1\nHost: x\nX-Fencing-Token: 5\n", "Content-Length: 3\n\nabc"
	with := func(rest string) string { return head + rest }
	chunked := func(body string) string { return with("Transfer-Encoding: chunked\n\n" + body) }
	for i, c := range []struct{ name, request, status string }{
		{"two lengths that agree", with("Content-Length: 3\nContent-Length: 3\n\nabc"), "400"},
		{"two lengths", with("Content-Length: 3\nContent-Length: 0\n\nabc"), "400"},
		{"a list of lengths", with("Content-Length: 3, 3\n\nabc"), "400"},
		{"an empty length", with("Content-Length:\n\nabc"), "400"},
		{"two words of length", with("Content-Length: 3 3\n\nabc"), "400"},
		{"a negative length", with("Content-Length: -3\n\nabc"), "400"},
		{"a signed length", with("Content-Length: +3\n\nabc"), "400"},
		{"a hexadecimal length", with("Content-Length: 0x3\n\nabc"), "400"},
		{"a length above 2^63", with("Content-Length: 9223372036854775808\n\nabc"), "400"},
		{"a length of 2^63-1", with("Content-Length: 9223372036854775807\n\nabc"), "507 spool_full"},
		{"a length with zeros", with("Content-Length: 003\n\nabc"), "201"},
		{"an unknown encoding", with("Transfer-Encoding: xchunked\n\n3\nabc\n0\n\n"), "501"},
		{"a second encoding", with("Transfer-Encoding: chunked, identity\n\n3\nabc\n0\n\n"), "501"},
		{"chunked twice", with("Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n"), "501"},
		{"an empty encoding", with("Transfer-Encoding:\n" + whole), "501"},
		{"an encoding behind a control character", with("Transfer-Encoding: \vchunked\n\n3\nabc\n0\n\n"), "400"},
		{"chunks", chunked("3\nabc\n0\n\n"), "201"},
		{"a chunk with an extension", chunked("3;a=b\nabc\n0;c\n\n"), "201"},
		{"a chunk with a prefix", chunked("0x3\nabc\n0\n\n"), "400 request_malformed"},
		{"a chunk with a sign", chunked("+3\nabc\n0\n\n"), "400 request_malformed"},
		{"a chunk that ends late", chunked("3\nabcd\n0\n\n"), "400 request_malformed"},
		{"no end of the trailers", chunked("3\nabc\n0\n"), "400 request_malformed"},
		{"a length among the trailers", with("Transfer-Encoding: chunked\nTrailer: Content-Length\n\n3\nabc\n0\nContent-Length: 9\n\n"), "400"},
		{"a blank before the colon", with("Content-Length : 3\n\nabc"), "400"},
		{"a folded length", with("Content-Length:\n 3\n\nabc"), "400"},
		{"a length folded into another", with("X-Other: a\n Content-Length: 9\n" + whole), "400"},
		{"a fold before all", strings.Replace(with(whole), "Host:", " Host: x\nHost:", 1), "400"},
		{"no name", with(": x\n" + whole), "400"},
		{"no colon", with("X-Other\n" + whole), "400"},
		{"NUL in a header", with("X-Other: a\x00b\n" + whole), "400"},
		{"no host", strings.Replace(with(whole), "Host: x\n", "", 1), "400"},
		{"two hosts", with("Host: y\n" + whole), "400"},
		{"an empty line before", "\n" + with(whole), "201"},
		{"a blank before", " " + with(whole), "400"},
		{"two blanks", strings.Replace(with(whole), " HTTP", "  HTTP", 1), "400"},
		{"a tab", strings.Replace(with(whole), "PUT ", "PUT\t", 1), "400"},
		{"a version that is none", strings.Replace(with(whole), "1.1", "1.10", 1), "400"},
		{"no version", strings.Replace(with(whole), " HTTP/1.1", "", 1), "400"},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\n\nSM\n\n" + with(whole), "505"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + with(whole), "400"},
		{"chunks before there were any", strings.Replace(chunked("3\nabc\n0\n\n"), "1.1", "1.0", 1), "400 request_malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			object, behind := fmt.Sprintf("/%d/object", i), fmt.Sprintf("/%d/behind", i)
			w := dial(t, s)
			w.send(strings.Replace(c.request, "%s", object, 1) + fmt.Sprintf(head, behind) + "Connection: close\n" + whole)
			answers := strings.Join(w.ends(), ", ")
			if c.status == "201" {
				if answers != "201, 201" {
					t.Errorf("it and the next are answered %q, want success", answers)
				}
				isStored(t, s.Data, object, "abc")
				return
			}
			if answers != c.status {
				t.Errorf("it and the next are answered %q, want %s and the end", answers, c.status)
			}
			if entries, err := os.ReadDir(filepath.Join(s.Data, fmt.Sprint(i))); err == nil {
				t.Errorf("it stored %v", entries)
			}
		})
	}
}

// Ends of lines without CR are the same to all; within chunks they are not.
func TestHostileBareLineFeeds(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	head := "PUT /heads HTTP/1.1\nHost: x\nX-Fencing-Token: 5\nConnection: close\n"
	w := dial(t, s)
	w.raw(head + "Content-Length: 3\n\nabc")
	w.says("201", http.MethodPut)
	isStored(t, s.Data, "/heads", "abc")
	for _, body := range []string{"3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3;x\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\n\r\n", "3\r\nabc\r0\r\n\r\n"} {
		w := dial(t, s)
		w.raw(strings.ReplaceAll(head, "/heads", "/chunks") + "Transfer-Encoding: chunked\n\n" + body)
		w.says("400 request_malformed", http.MethodPut)
		if _, err := os.Stat(filepath.Join(s.Data, "chunks")); !os.IsNotExist(err) {
			t.Errorf("%q is stored: %v", body, err)
		}
	}
}

// With both a length and chunks the chunks count (RFC 9112 section 6.3): the
// length is not even sent on.
func TestHostileLengthBesideChunks(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	s := harness.Fencegate(t, "--upstream", store.URL(), "--settle", "200ms")
	for i, length := range []int{0, 1, 3, 13, 1000} {
		w := dial(t, s)
		w.send(fmt.Sprintf("PUT /%d HTTP/1.1\nHost: x\nX-Fencing-Token: 5\nContent-Length: %d\nTransfer-Encoding: chunked\nConnection: close\n\n3\nabc\n0\n\n", i, length))
		w.says("201", http.MethodPut)
		isStored(t, store.Root(), fmt.Sprint(i), "abc")
	}
}
