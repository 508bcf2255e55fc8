package front

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
)

// script is what a handler does with its answer: header lines, then a status,
// then pieces, "!" for a Flush.
type script struct {
	header string // "name: value" lines
	status int
	pieces string // divided by "|"
	late   bool   // more headers, and another status, in the middle
}

// play returns what was accepted as the answer's body.
func (s script) play(t *testing.T, w http.ResponseWriter) (body string, whole bool) {
	for line := range strings.SplitSeq(s.header, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			w.Header()[name] = append(w.Header()[name], value)
		}
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	for piece := range strings.SplitSeq(s.pieces, "|") {
		if piece == "!" {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
			continue
		}
		n, err := io.WriteString(w, piece)
		switch {
		case err == nil && n != len(piece):
			t.Errorf("%d of %d written without an error", n, len(piece))
		case err != nil && !errors.Is(err, http.ErrContentLength) && !errors.Is(err, http.ErrBodyNotAllowed):
			t.Errorf("Write: %v", err)
		}
		body += piece[:n]
		if s.late {
			w.Header()["Content-Length"] = []string{"3"}
			w.Header()["Transfer-Encoding"] = []string{"chunked"}
			w.WriteHeader(500)
		}
	}
	a := w.(*answer)
	return body, a.length < 0 || a.written == a.length
}

// FuzzAnswer: whatever a handler does, a client reads one answer, the one that
// was given, and what follows it is the answer to the next request or the end.
func FuzzAnswer(f *testing.F) {
	for _, header := range []string{
		"", "A:b\nA:c", "Content-Length:5", "Content-Length:4", "Content-Length:9", "Content-Length:+5", "Content-Length:5\nContent-Length:6", "Content-Length: 5", "content-length:3",
		"Transfer-Encoding:chunked", "transfer-encoding:chunked", "Transfer-Encoding:identity", "Connection:close", "Connection:x", "connection:close", "Date:", "Trailer:Content-Length", "trailer:A",
		"A:b\r\nC: d", "A:b\r", "A\r\nB:c", "A B:c", ":a", "A:\x00", "A:\f\x7f\xff", "A:\xff", "Set-Cookie:a\nSet-Cookie:b", "Trailer:A\nTrailer:A",
	} {
		for _, pieces := range []string{"", "hello", "!", "!|hello", "he|llo", "he|!|llo", strings.Repeat("a", 5000), "a|" + strings.Repeat("b", 4096) + "|c"} {
			for i, status := range []int{0, 200, 204, 304, 404, 999, 600, 101, 103, 100, 205} {
				f.Add(header, status, pieces, byte(i*5+len(pieces)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, header string, status int, pieces string, how byte) {
		if status != 0 && (status < 100 || status > 999) || status == http.StatusSwitchingProtocols {
			return // tested apart
		}
		method, proto := []string{"GET", "HEAD", "PUT"}[how%3], []string{"HTTP/1.1", "HTTP/1.0"}[how/3%2]
		s := script{header, status, pieces, how/6%2 == 1}
		request := method + " /first " + proto + "\r\nHost: h\r\nConnection: " + []string{"close", "keep-alive"}[how/12%2] + "\r\n\r\n"
		w := &wire{in: []byte(request + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n")}
		var body string
		var whole, next bool
		w.over(func(rw http.ResponseWriter, r *http.Request) {
			if next = r.URL.Path == "/next"; next {
				_, _ = io.WriteString(rw, "next")
				return
			}
			body, whole = s.play(t, rw)
		})
		if status < 200 {
			status = 200 // what comes behind an informational one
		}
		in := bufio.NewReader(&w.out)
		res := readFinal(t, in, method)
		if res.StatusCode != status {
			t.Fatalf("the status is %d, want %d", res.StatusCode, status)
		}
		checkHeader(t, header, res.Header)
		read, err := io.ReadAll(res.Body)
		switch {
		case !whole && method != "HEAD" && allowsBody(status):
			if err != io.ErrUnexpectedEOF || next {
				t.Fatalf("too short an answer: %v, and another one: %v", err, next)
			}
			return
		case err != nil:
			t.Fatalf("the answer broke off: %v", err)
		case method == "HEAD" || !allowsBody(status):
			body = ""
		}
		if string(read) != body {
			t.Fatalf("read %q, want %q", read, body)
		}
		if res.Close == next {
			t.Fatalf("it says that the connection ends: %v, and there is another answer: %v", res.Close, next)
		}
		if next {
			res := readFinal(t, in, "GET")
			if read, err := io.ReadAll(res.Body); err != nil || string(read) != "next" {
				t.Fatalf("the next answer: %q, %v", read, err)
			}
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Fatalf("more than was asked for: %q", rest)
		}
	})
}

// readFinal reads an answer that is not informational.
func readFinal(t *testing.T, in *bufio.Reader, method string) *http.Response {
	t.Helper()
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		if res.StatusCode >= 200 {
			return res
		}
	}
}

// checkHeader looks for the lines of a script that are good, and for others.
func checkHeader(t *testing.T, script string, h http.Header) {
	t.Helper()
	want := http.Header{"Date": nil, "Content-Length": nil, "Transfer-Encoding": nil, "Connection": nil}
	for line := range strings.SplitSeq(script, "\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !httpguts.ValidHeaderFieldName(name) {
			continue
		}
		name = http.CanonicalHeaderKey(name)
		want[name] = append(want[name], value)
		if _, ours := map[string]bool{"Trailer": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true}[name]; !ours &&
			httpguts.ValidHeaderFieldValue(value) && !slices.Contains(h[name], strings.Trim(value, " \t")) {
			t.Errorf("%s: %q is missing: %q", name, value, h[name])
		}
	}
	for name := range h {
		if _, ok := want[name]; !ok {
			t.Errorf("%s was not given", name)
		}
	}
}
