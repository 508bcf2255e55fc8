package front

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestMalformedChunks: a body framed wrongly ends with ErrMalformed or
// io.ErrUnexpectedEOF, however it comes, the same at each further Read, and
// nothing behind it is taken for a request.
func TestMalformedChunks(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"LF behind a size", "5\nhello\r\n0\r\n\r\n", "CR and LF are not together"},
		{"LF behind a chunk", "5\r\nhello\n0\r\n\r\n", "does not end where its size says"},
		{"LF in an extension", "5;a\n0\r\n\r\n" + get + "\r\n", "CR and LF are not together"},
		{"CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n", "CR and LF are not together"},
		{"CR behind a size", "5\r\r\nhello\r\n0\r\n\r\n", "CR and LF are not together"},
		{"shorter than its size", "5\r\nhell\r\n0\r\n\r\n", "does not end where its size says"},
		{"much shorter than its size", "4\r\nh\r\n\r\n\r\n", "does not end where its size says"},
		{"longer than its size", "4\r\nhello\r\n0\r\n\r\n", "does not end where its size says"},
		{"no size", "\r\nhello\r\n0\r\n\r\n", "no chunk's size"},
		{"only an extension", ";a\r\n\r\n", "no chunk's size"},
		{"0x", "0x5\r\nhello\r\n0\r\n\r\n", "no chunk's size"},
		{"minus", "-5\r\nhello\r\n0\r\n\r\n", "no chunk's size"},
		{"plus", "+5\r\nhello\r\n0\r\n\r\n", "no chunk's size"},
		{"underscore", "1_0\r\n0123456789abcdef\r\n0\r\n\r\n", "no chunk's size"},
		{"a space first", " 5\r\nhello\r\n0\r\n\r\n", "no chunk's size"},
		{"2^63", "8000000000000000\r\nhello\r\n", "a chunk's size is too large"},
		{"2^64 and 5", "10000000000000005\r\nhello\r\n0\r\n\r\n", "a chunk's size is too large"},
		{"17 zeros", strings.Repeat("0", 17) + "\r\n\r\n", "no chunk's size"},
		{"a long extension", "5;" + strings.Repeat("a", 4093) + "\r\nhello\r\n0\r\n\r\n", "a line is too long"},
		{"extensions for nothing", strings.Repeat("1;"+strings.Repeat("a", 900)+"\r\nx\r\n", 30) + "0\r\n\r\n", "too much framing"},
		{"folded trailer", "0\r\nA: b\r\n c\r\n\r\n", "in its trailer"},
		{"LF in the trailer", "0\r\nA: b\n\r\n", "CR and LF are not together"},
		{"NUL in the trailer", "0\r\nA: \x00\r\n\r\n", "in its trailer"},
		{"a large trailer", "0\r\n" + strings.Repeat("A: b\r\n", 5000) + "\r\n", "its trailer is too large"},
		{"a long trailer", "0\r\nA: " + strings.Repeat("b", 4096) + "\r\n\r\n", "a line is too long"},
		{"the end in a size", "5", "unexpected EOF"},
		{"the end in a chunk", "5\r\nhel", "unexpected EOF"},
		{"the end behind a chunk", "5\r\nhello\r", "unexpected EOF"},
		{"the end in the trailer", "0\r\nA: b\r\n", "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, split := range []int{0, 1, 3, 4096} {
				in := te + "\r\n" + c.body
				if c.want != "unexpected EOF" {
					in += get + "\r\n"
				}
				w := &wire{in: []byte(in), split: split}
				calls := 0
				w.over(func(rw http.ResponseWriter, r *http.Request) {
					calls++
					_, err := io.ReadAll(r.Body)
					if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrMalformed) && err != io.ErrUnexpectedEOF {
						t.Errorf("in pieces of %d: got %v, want %q", split, err, c.want)
					}
					if _, again := r.Body.Read(make([]byte, 1)); again != err {
						t.Errorf("then %v", again)
					}
					rw.WriteHeader(http.StatusBadRequest)
				})
				if calls != 1 {
					t.Errorf("in pieces of %d: %d requests", split, calls)
				}
				if out := w.out.String(); strings.Count(out, "HTTP/1.1") != 1 || !strings.Contains(out, "Connection: close\r\n") {
					t.Errorf("in pieces of %d: answered %q", split, out)
				}
			}
		})
	}
}

// TestChunks: content, limits that are just kept, and the trailer.
func TestChunks(t *testing.T) {
	many := strings.Repeat("1\r\nx\r\n", 20000)
	for _, c := range []struct {
		name, body, want string
		trailer          int
	}{
		{"small ones", many + "0\r\n\r\n", strings.Repeat("x", 20000), 0},
		{"a large one", "fffff\r\n" + strings.Repeat("y", 1<<20-1) + "\r\n0\r\n\r\n", strings.Repeat("y", 1<<20-1), 0},
		{"the longest line", "1;" + strings.Repeat("a", 4092) + "\r\nz\r\n0\r\n\r\n", "z", 0},
		{"sixteen digits", "0000000000000001\r\nz\r\n0000000000000000\r\n\r\n", "z", 0},
		{"a trailer", "1\r\nz\r\n0\r\nA: b\r\nx-y:\tc \r\nA: d\r\n\r\n", "z", 2},
	} {
		for _, split := range []int{0, 1, 7, 8192} {
			w := &wire{in: []byte(te + "Trailer: A, a,, Z\r\n\r\n" + c.body + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"), split: split}
			next := false
			w.over(func(_ http.ResponseWriter, r *http.Request) {
				if next = r.URL.Path == "/next"; next {
					return
				}
				if len(r.Trailer) != 2 || r.Trailer["A"] != nil || r.Header["Trailer"] != nil {
					t.Errorf("%s: announced: %v", c.name, r.Trailer)
				}
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != c.want {
					t.Errorf("%s, in pieces of %d: %d bytes, %v", c.name, split, len(body), err)
				}
				if c.trailer > 0 && (strings.Join(r.Trailer["A"], "|") != "b|d" || r.Trailer.Get("X-Y") != "c") {
					t.Errorf("%s: trailer %v", c.name, r.Trailer)
				}
			})
			if !next {
				t.Errorf("%s, in pieces of %d: the next request was not found", c.name, split)
			}
		}
	}
}
