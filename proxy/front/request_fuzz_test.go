package front

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpguts"
)

// got is a request as a handler gets it, with its body.
type got struct {
	Method, Target, Host, Proto, Path string
	Header, Trailer                   http.Header
	Length                            int64
	Coding                            []string
	Close                             bool
	Body                              string
	Left                              int // of what came, behind the body
	err                               error
}

func gotOf(r *http.Request, left func() int) got {
	g := got{Method: r.Method, Target: r.RequestURI, Host: r.Host, Proto: r.Proto, Path: r.URL.String(),
		Header: r.Header.Clone(), Length: r.ContentLength, Coding: slices.Clone(r.TransferEncoding), Close: r.Close}
	body, err := io.ReadAll(r.Body)
	g.Body, g.err, g.Trailer = string(body), err, r.Trailer.Clone()
	if err == nil {
		g.Left = left()
	}
	return g
}

// byFront returns the requests that this package takes data for, and what it
// answers to what it takes for none.
func byFront(data []byte, split int) (all []got, refusal string) {
	w := &wire{in: data, split: split}
	w.over(func(rw http.ResponseWriter, r *http.Request) {
		c := rw.(*answer).c
		all = append(all, gotOf(r, func() int { return len(data) - w.used + c.to - c.from }))
		rw.WriteHeader(http.StatusNoContent)
	})
	out := w.out.String()
	if i := strings.LastIndex(out, "\r\n\r\n"); i >= 0 {
		refusal = out[i+4:]
	}
	return all, refusal
}

// byNetHTTP returns the requests that net/http takes data for.
func byNetHTTP(data []byte) (all []got, err error) {
	under := bytes.NewReader(data)
	in := bufio.NewReaderSize(under, 128<<10)
	for {
		for range 4 { // as its server does behind a POST
			if b, _ := in.Peek(1); len(b) == 1 && (b[0] == '\r' || b[0] == '\n') {
				_, _ = in.Discard(1)
			}
		}
		r, err := http.ReadRequest(in)
		if err != nil {
			return all, err
		}
		if err := checkAsServer(r); err != nil {
			return all, err
		}
		if r.Header.Get("Pragma") == "no-cache" && slices.Equal(r.Header["Cache-Control"], []string{"no-cache"}) {
			r.Header["Cache-Control"] = nil // it may have added that
		}
		all = append(all, gotOf(r, func() int { return under.Len() + in.Buffered() }))
		if last := all[len(all)-1]; last.err != nil || last.Close {
			return all, last.err
		}
	}
}

// checkAsServer refuses what net/http's server does but ReadRequest does not. Of
// Host it does not see whether there was one: an empty one is taken for none.
func checkAsServer(r *http.Request) error {
	if r.ProtoMajor != 1 {
		return errors.New("version")
	}
	if !httpguts.ValidHostHeader(r.Host) {
		return errors.New("host")
	}
	for name, lines := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(lines, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
			return errors.New("header")
		}
	}
	return nil
}

// refusedBeyond are the refusals of what net/http's server takes (doc.go).
var refusedBeyond = []string{
	"431 Request Header Fields Too Large",
	"too many Content-Length headers",              // it takes several that are the same
	"bad Content-Length",                           // it does not look at it beside Transfer-Encoding
	"malformed header line", "invalid header name", // folded lines
	"malformed HTTP request line",                           // more empty lines before it than four bytes
	"missing required Host header", "malformed Host header", // ReadRequest does not look at Host
	"only 100-continue can be expected",
	"unsupported protocol version", // the preface of HTTP/2 before its end
}

// brokenBeyond are the errors of bodies that net/http's server takes.
var brokenBeyond = []string{
	"CR and LF are not together", // in a trailer
	"a line is too long", "its trailer is too large", "in its trailer", "a chunk's size is too large",
}

// spaced is white space before a chunk's extension, which is to be taken (RFC
// 9112 section 7.1.1) but which net/http refuses.
var spaced = regexp.MustCompile(`(?m)^[0-9a-fA-F]+[ \t]+;`)

// FuzzRequest: whatever is taken for a request, net/http takes for the same one,
// which ends at the same place.
func FuzzRequest(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed), byte(0))
		f.Add([]byte(seed), byte(1))
		f.Add([]byte(seed+"GET /next HTTP/1.1\r\nHost: h\r\n\r\n"), byte(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, split byte) {
		ours, refusal := byFront(data, int(split))
		theirs, err := byNetHTTP(data)
		for i, mine := range ours {
			if i == len(theirs) {
				t.Fatalf("taken, and refused by net/http (%v): %+v", err, mine)
			}
			if slices.Equal(mine.Header["Cache-Control"], []string{"no-cache"}) && mine.Header.Get("Pragma") == "no-cache" {
				mine.Header["Cache-Control"] = nil
			}
			other := theirs[i]
			if other.Header["Cache-Control"] == nil {
				delete(other.Header, "Cache-Control")
				delete(mine.Header, "Cache-Control")
			}
			if mine.err != nil && other.err == nil && !isOneOf(mine.err.Error(), brokenBeyond) {
				t.Fatalf("the body is broken off, and not by net/http: %v", mine.err)
			}
			if mine.err == nil && other.err != nil {
				if spaced.Match(data) {
					return
				}
				t.Fatalf("the body is taken, and not by net/http: %v", other.err)
			}
			if mine.err != nil || other.err != nil {
				mine.Body, other.Body, mine.Trailer, other.Trailer = "", "", nil, nil
				mine.Left, other.Left = 0, 0
			}
			mine.err, other.err = nil, nil
			if d := cmp.Diff(other, mine, cmp.AllowUnexported(got{})); d != "" {
				t.Fatalf("not what net/http has it for (-net/http +front):\n%s", d)
			}
		}
		n := len(ours)
		if n == len(theirs) || n > 0 && (ours[n-1].err != nil || ended(ours[n-1], data)) {
			return
		}
		if !isOneOf(refusal, refusedBeyond) {
			t.Fatalf("%+v\nwas refused, and not by net/http: %q", theirs[n], refusal)
		}
	})
}

// ended reports whether the connection may have ended behind a request for a
// reason that net/http does not have: both framings, or one of HTTP/1.0 that has
// none of them.
func ended(g got, data []byte) bool {
	return bytes.Contains(bytes.ToLower(data), []byte("transfer-encoding")) && (len(g.Coding) > 0 || g.Proto == "HTTP/1.0")
}

func isOneOf(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
