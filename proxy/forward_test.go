package proxy

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fencegate/fence"
)

// What the store is sent is what was judged, byte for byte.
func TestTargetsArePassedUnchanged(t *testing.T) {
	w := open(t)
	for target, want := range map[string]string{
		"/a":                         "/a",
		"/":                          "/",
		"/a/":                        "/a/",
		"/%61":                       "/%61",
		"/a%20b%23%3F%25":            "/a%20b%23%3F%25",
		"/caf%c3%A9":                 "/caf%c3%A9",
		"/café":                      "/café",
		"/~a!$&'()*+,=:@-._":         "/~a!$&'()*+,=:@-._",
		"/a?":                        "/a?",
		"/a??":                       "/a??",
		"/a?b=/../c//d":              "/a?b=/../c//d",
		"/a?%41=%2f&+&&=&b":          "/a?%41=%2f&+&&=&b",
		"/a?x=é":                     "/a?x=é",
		"http://fence.test/%61?b":    "/%61?b",
		"http://else.where:99/a":     "/a",
		"http://fence.test":          "/",
		"http://fence.test?x=y":      "/?x=y",
		"http://fence.test/a?":       "/a?",
		"http://user@fence.test/a?b": "/a?b",
	} {
		for _, method := range []string{"GET", "PUT"} {
			answer := read
			if method == "PUT" {
				answer = stored
			}
			w.says(method+" "+target+"\nX-Fencing-Token: 5", answer)
			w.saw(method + " " + want)
		}
	}
	w.says("PUT http://fence.test\nX-Fencing-Token: 5\n\nv", stored)
	if got := w.store.requests()[0]; got.path != "/" {
		t.Errorf("the store sees the path %q, want /", got.path)
	}
}

func TestHeadersThatAreNotForTheStore(t *testing.T) {
	headers := strings.Join([]string{
		"X-Fencing-Token: 5", "X-Fencing-Owner: S3cret", "X-Fencing-Client: host/1", "X-Fencing-Other: x",
		"Connection: keep-alive, X-Private, TE", "X-Private: x", "Keep-Alive: timeout=5", "Proxy-Connection: close",
		"Proxy-Authorization: Basic x", "TE: trailers", "Upgrade: h2c", "HTTP2-Settings: x",
		"X-Original-URL: /other", "X-Rewrite-URL: /other", "X_Original_URL: /other", "X-Original_Url: /other",
		"Prefer: respond-async, wait=5", "Prefer: Respond-Async", `Prefer: foo="a,b"`,
		"Content-Type: text/csv", "If-Match: \"x\"", "Cookie: a=b", "Cookie: c=d", "Accept-Encoding: gzip", "X-Request-Id: r-1",
	}, "\n")
	w := open(t)
	w.says("PUT /a\n"+headers+"\n\nv", stored)
	w.says("GET /a\n"+headers, read)
	w.says("DELETE /a\n"+headers, stored)
	for _, got := range w.store.requests() {
		want := http.Header{
			"Content-Type": {"text/csv"}, "If-Match": {`"x"`}, "Cookie": {"a=b", "c=d"}, "Accept-Encoding": {"gzip"},
			"X-Request-Id": {"r-1"}, "Prefer": {"wait=5", `foo="a,b"`},
		}
		if got.method == "PUT" {
			want["Content-Length"] = []string{"1"}
		}
		for name, lines := range got.header {
			if !slices.Equal(lines, want[name]) {
				t.Errorf("%s: the store was sent %s: %q, want %q", got.method, name, lines, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("%s: the store was not sent %v", got.method, want)
		}
	}
	w.says("PUT /a\nX-Fencing-Token: 5\nExpect: 100-continue\n\nv", want{status: 100})
	w.conn.gets("PUT /a", stored)
	if got := w.store.requests()[3]; got.header.Get("Expect") != "" || got.body != "v" {
		t.Errorf("the store was sent %v with %q", got.header, got.body)
	}
}

// An answer of the store passes, except for what looks like ours or is for the
// connection to it.
func TestAnswersOfTheStore(t *testing.T) {
	headers := []string{
		"X-Fencing-Reason: stale_token", "X-Fencing-Highest: 99", "X-Fencing-Observed: stale_token", "X-Fencing-Anything: x",
		"Connection: X-Private, close", "X-Private: x", "Keep-Alive: timeout=5", "Upgrade: h2c", "Transfer-Encoding: gzip", "Trailer: X-Fencing-Reason",
		"ETag: \"v1\"", "Set-Cookie: a=b", "Set-Cookie: c=d", "Content-Type: text/plain", "Retry-After: 3", "Location: /b",
	}
	w := open(t)
	for _, status := range []int{201, 204, 304, 412, 409, 428, 500, 503} {
		w.store.write = func(*http.Request, string) (*http.Response, fence.Outcome, error) {
			return storeSays(status, "", headers...), fence.Definite, nil
		}
		w.store.read = func(rw http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
			res := storeSays(status, "", headers...)
			for name, lines := range res.Header {
				rw.Header()[name] = lines
			}
			rw.WriteHeader(status)
			return fence.Definite, nil
		}
		for _, method := range []string{"PUT", "GET", "HEAD"} {
			a := w.says(method+" /a\nX-Fencing-Token: 5", want{status: status, retry: "3"})
			for _, name := range []string{"X-Fencing-Anything", "X-Private", "Keep-Alive", "Upgrade", "Trailer"} {
				if a.Header.Get(name) != "" {
					t.Errorf("%s %d: the client was sent %s: %s", method, status, name, a.Header.Get(name))
				}
			}
			if a.Header.Get("ETag") != `"v1"` || len(a.Header["Set-Cookie"]) != 2 || a.Header.Get("Location") != "/b" {
				t.Errorf("%s %d: headers are missing: %v", method, status, a.Header)
			}
		}
	}
}

// An answer may come in pieces, with an early hint, or with a wrong length
// among its headers.
func TestAnswersInPieces(t *testing.T) {
	w := open(t)
	w.store.read = func(rw http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
		rw.Header().Set("X-Fencing-Reason", "stale_token")
		rw.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(rw, "con")
		_, err := io.Copy(rw, strings.NewReader("tent"))
		return fence.Definite, err
	}
	w.says("GET /a", want{status: 103})
	w.conn.gets("GET /a", read)
	w.store.write = func(*http.Request, string) (*http.Response, fence.Outcome, error) {
		res := storeSays(200, "of unknown length", "Content-Length: 3")
		res.ContentLength = -1
		return res, fence.Definite, nil
	}
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", want{status: 200, body: "of unknown length"})
	w.store.write = func(*http.Request, string) (*http.Response, fence.Outcome, error) {
		return storeSays(204, "", "Content-Length: 0"), fence.Definite, nil
	}
	if a := w.says("DELETE /a\nX-Fencing-Token: 5", want{status: 204}); a.Header.Get("Content-Length") != "" {
		t.Error("a 204 has a Content-Length")
	}
}
