package remote

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// judged is what everybody makes of an answer's head.
type judged struct {
	Status, Proto        string
	Code, Major, Minor   int
	Header               http.Header
	Length               int64
	Body, Keeps, Decoded bool
}

func judge(res *http.Response, keeps bool) judged {
	return judged{
		Status: res.Status, Proto: res.Proto, Code: res.StatusCode, Major: res.ProtoMajor, Minor: res.ProtoMinor,
		Header: res.Header, Length: res.ContentLength, Body: res.Body != http.NoBody, Keeps: keeps,
		Decoded: res.Uncompressed || len(res.TransferEncoding) > 0 || len(res.Trailer) > 0 || res.Close,
	}
}

// byLibrary is what receive makes of a head with http.ReadResponse.
func byLibrary(text, method string) (judged, error) {
	c := &conn{socket: &socket{}, exchange: exchange{headLeft: maxHead}}
	c.in = newInput(strings.NewReader(text))
	res, err := c.receiveOne(method)
	if err != nil {
		return judged{}, err
	}
	if c.pending() > 0 {
		return judged{}, errors.New("the head ends before the text")
	}
	if res.StatusCode < 200 {
		return judged{}, errors.New("not a final answer")
	}
	keeps := res.ProtoMinor == 1 && !res.Close && c.seen.plain(res)
	trim(res.Header)
	return judge(res, keeps), nil
}

var simpleHeads = []struct {
	head   string
	simple bool
}{
	{"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", true},
	{"HTTP/1.1 201 Created\r\nServer: nginx/1.22.1\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 4\r\nLocation: http://h/a\r\nConnection: keep-alive\r\n\r\n", true},
	{"HTTP/1.1 204 No Content\r\nDate: x\r\nETag: \"1\"\r\nDAV: 1\r\nx-amz-request-id: 7\r\n\r\n", true},
	{"HTTP/1.1 304 \r\n\r\n", true},
	{"HTTP/1.1 304\r\nContent-Length: 17\r\n\r\n", true},
	{"HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", true},
	{"HTTP/1.1 200  OK \r\nContent-Length: 00\r\n\r\n", true},
	{"HTTP/1.1 200 \xe4\r\nA: \xff\r\nB:\t x y \t\r\nC:\r\nContent-Length: 12\r\n\r\n", true},
	{"HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nset-cookie: c\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n", true},
	{"HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\nProxy-Authenticate: x\r\nContent-Length: 1\r\n\r\n", true},
	{"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: 1\r\nB: 2\r\n", 20) + "Content-Length: 1\r\n\r\n", true},
	{"HTTP/1.1 999 Odd\r\nContent-Length: 999999999999999999\r\n\r\n", true},

	{"HTTP/1.1 200 OK\r\n\r\n", false}, // but simple for HEAD
	{"HTTP/1.1 100 Continue\r\n\r\n", false},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\nContent-Length: 1\n\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\n\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nPragma: no-cache\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nA: 1\r\n  Transfer-Encoding: chunked\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\n Content-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\n: 1\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nA\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nA: \x00\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nA: a\rb\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 O\x7fK\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 O\rK\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 2x0 OK\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 2000 OK\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1  200 OK\r\nContent-Length: 1\r\n\r\n", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nA: 1\r\n\r\n", false},
	{"\r\n\r\n", false},
}

// The common form is taken by the short way, and nothing else is.
func TestSimpleHeads(t *testing.T) {
	for _, c := range simpleHeads {
		if got := parseSimple(c.head, "PUT") != nil; got != c.simple {
			t.Errorf("%q is simple: %v, want %v", c.head, got, c.simple)
		}
		agree(t, c.head, "PUT")
		agree(t, c.head, "HEAD")
	}
}

// agree checks that the short way, where it is taken, leads to where the long
// one does.
func agree(t *testing.T, head, method string) {
	t.Helper()
	a := parseSimple(head, method)
	if a == nil {
		return
	}
	want, err := byLibrary(head, method)
	if err != nil {
		t.Fatalf("%s answered %q: taken, but http.ReadResponse says %v", method, head, err)
	}
	if diff := cmp.Diff(want, judge(&a.Response, a.keeps)); diff != "" {
		t.Fatalf("%s answered %q: -http.ReadResponse +ours\n%s", method, head, diff)
	}
}

func FuzzSimpleHead(f *testing.F) {
	for _, c := range simpleHeads {
		f.Add(c.head, "PUT")
		f.Add(c.head, "HEAD")
	}
	f.Fuzz(func(t *testing.T, head, method string) { agree(t, head, method) })
}

// What a store says once more is not taken for another method's.
func TestSimpleHeadAgain(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
	c := &conn{}
	c.in = newInput(strings.NewReader(strings.Repeat(head, 3)))
	if err := c.in.fill(); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"PUT", "HEAD", "PUT"} {
		a := c.receiveSimple(method)
		if a == nil || (a.Body == http.NoBody) != (method == "HEAD") || a.ContentLength != 4 {
			t.Errorf("%s: %+v", method, a)
		}
	}
}
