package front

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// asked returns all that is answered to a request.
func asked(request string, h http.HandlerFunc) string {
	w := &wire{in: []byte(request)}
	w.over(h)
	var lines []string
	for line := range strings.SplitSeq(w.out.String(), "\r\n") {
		if !strings.HasPrefix(line, "Date: ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestAnswers: byte for byte.
func TestAnswers(t *testing.T) {
	write := func(status int, length string, pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			if status != 0 {
				w.WriteHeader(status)
			}
			for _, piece := range pieces {
				_, _ = io.WriteString(w, piece)
			}
		}
	}
	const head = "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"
	for _, c := range []struct {
		name, request string
		h             http.HandlerFunc
		want          string
	}{
		{"nothing", get + "\r\n", nothing, "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
		{"sized", get + "\r\n", write(201, "5", "he", "llo"), "HTTP/1.1 201 Created\nContent-Length: 5\n\nhello"},
		{"chunked", get + "\r\n", write(0, "", "he", "", "llo"), "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n"},
		{"chunked, flushed", get + "\r\n", func(w http.ResponseWriter, _ *http.Request) {
			for _, s := range []string{"he", "llo"} {
				_, _ = io.WriteString(w, s)
				_ = http.NewResponseController(w).Flush()
			}
		}, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhe\n3\nllo\n0\n\n"},
		{"without a length in 1.0", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", write(0, "", "hello"), "HTTP/1.0 200 OK\nConnection: close\n\nhello"},
		{"with one in 1.0", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", write(0, "5", "hello"), "HTTP/1.0 200 OK\nContent-Length: 5\nConnection: keep-alive\n\nhello"},
		{"HEAD", head, write(0, "5", "hello"), "HTTP/1.1 200 OK\nContent-Length: 5\n\n"},
		{"HEAD without a length", head, write(0, "", "hello"), "HTTP/1.1 200 OK\n\n"},
		{"204", get + "\r\n", write(204, "5", "hello"), "HTTP/1.1 204 No Content\n\n"},
		{"304", get + "\r\n", write(304, "", ""), "HTTP/1.1 304 Not Modified\n\n"},
		{"too long", get + "\r\n", write(0, "4", "hell", "o"), "HTTP/1.1 200 OK\nContent-Length: 4\n\nhell"},
		{"too short", get + "\r\n" + get + "\r\n", write(0, "6", "hello"), "HTTP/1.1 200 OK\nContent-Length: 6\n\nhello"}, // and the end
		{"no text", get + "\r\n", write(299, "0"), "HTTP/1.1 299 \nContent-Length: 0\n\n"},
		{"999", get + "\r\n", write(999, "0"), "HTTP/1.1 999 \nContent-Length: 0\n\n"},
		{"two statuses", get + "\r\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); w.WriteHeader(200) }, "HTTP/1.1 404 Not Found\nContent-Length: 0\n\n"},
		{"informational", get + "\r\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "a")
			w.WriteHeader(103)
			w.Header().Del("Link")
			w.WriteHeader(404)
		}, "HTTP/1.1 103 Early Hints\nLink: a\n\nHTTP/1.1 404 Not Found\nContent-Length: 0\n\n"},
		{"informational in 1.0", "GET / HTTP/1.0\r\n\r\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103) }, "HTTP/1.0 200 OK\nContent-Length: 0\nConnection: close\n\n"},
		{"101", get + "\r\n" + get + "\r\n", write(101, "", "a"), "HTTP/1.1 101 Switching Protocols\nConnection: close\n\n"},
		{"to the end", get + "\r\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Transfer-Encoding", "identity")
			_, _ = io.WriteString(w, "a")
		}, "HTTP/1.1 200 OK\nConnection: close\n\na"},
		{"a split answer", get + "\r\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("A", "b\r\nContent-Length: 3\r\n\r\nabc\x00")
		}, "HTTP/1.1 200 OK\nA: b  Content-Length: 3    abc \nContent-Length: 0\n\n"},
		{"Expect", put + "Expect: 100-continue\r\nContent-Length: 1\r\n\r\na", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
			"HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\na\n0\n\n"},
		{"Expect, not read", put + "Expect: 100-continue\r\nContent-Length: 1\r\n\r\na", nothing, "HTTP/1.1 200 OK\nContent-Length: 0\nConnection: close\n\n"},
		{"Expect, read behind the answer", put + "Expect: 100-continue\r\nContent-Length: 1\r\n\r\na", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(403)
			_, _ = io.Copy(io.Discard, r.Body)
		}, "HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n"},
		{"Expect, no body", put + "Expect: 100-continue\r\n\r\n", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }, "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
		{"Expect in 1.0", "PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
			"HTTP/1.0 200 OK\nContent-Length: 0\nConnection: close\n\n"},
	} {
		if got := asked(c.request, c.h); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestNoStatus: what is no status panics, and no other one is answered.
func TestNoStatus(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000} {
		if got := asked(get+"\r\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }); got != "" {
			t.Errorf("%d: answered %q", status, got)
		}
	}
}

// TestErrorsOfWriting: as http.ResponseWriter has them.
func TestErrorsOfWriting(t *testing.T) {
	asked(get+"\r\n", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(304)
		if n, err := io.WriteString(w, "a"); n != 0 || err != http.ErrBodyNotAllowed {
			t.Errorf("a body of 304: %d, %v", n, err)
		}
	})
	asked(get+"\r\n", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1")
		for _, want := range []error{http.ErrContentLength, nil, http.ErrContentLength} {
			text := "a"
			if want != nil {
				text = "ab"
			}
			if _, err := io.WriteString(w, text); err != want {
				t.Errorf("writing %q: %v, want %v", text, err, want)
			}
		}
	})
}

// TestPiecesOfAnswers: all that fits and does not fit into what is held back.
func TestPiecesOfAnswers(t *testing.T) {
	for _, size := range []int{1, 100, 3900, 4095, 4096, 4097, 9000} {
		for _, sized := range []bool{true, false} {
			var want strings.Builder
			for i := range 8 {
				want.WriteString(strings.Repeat(strconv.Itoa(i), size))
			}
			w := &wire{in: []byte(get + "\r\n")}
			w.over(func(w http.ResponseWriter, _ *http.Request) {
				if sized {
					w.Header().Set("Content-Length", strconv.Itoa(want.Len()))
				}
				w.Header().Set("A", strings.Repeat("a", 5000))
				for piece := range slices.Chunk([]byte(want.String()), size) {
					if n, err := w.Write(piece); n != size || err != nil {
						t.Errorf("wrote %d, %v", n, err)
					}
				}
			})
			res := readFinal(t, bufio.NewReader(&w.out), "GET")
			if got, err := io.ReadAll(res.Body); err != nil || string(got) != want.String() || len(res.Header.Get("A")) != 5000 {
				t.Errorf("pieces of %d: %d bytes, %v", size, len(got), err)
			}
		}
	}
}
