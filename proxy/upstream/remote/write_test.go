package remote

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

// answered is a store that reads the whole request and then says text.
func answered(text string) func(*peer) {
	return func(p *peer) {
		p.request()
		p.say(text)
	}
}

const whole = "Content-Length: 4\r\n\r\ndone"

func TestAnswers(t *testing.T) {
	const (
		cut       = "Content-Length: 400\r\n\r\ndone"
		chunked   = "Transfer-Encoding: chunked\r\n\r\n"
		http10    = "HTTP/1.0 200 OK\r\n\r\ndone"
		definite  = fence.Definite
		uncertain = fence.Uncertain
	)
	for _, c := range []struct {
		method  string // and headers, by blanks
		answer  string
		status  int
		body    string
		outcome fence.Outcome
	}{
		{"PUT", "HTTP/1.1 200 OK\r\n" + whole, 200, "done", definite},
		{"PUT", "HTTP/1.1 201 Created\r\n" + whole, 201, "done", definite},
		{"PUT", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", definite},
		{"PUT", "HTTP/1.1 202 Accepted\r\n" + whole, 202, "done", uncertain},
		{"PUT", "HTTP/1.1 301 Moved\r\nLocation: /b\r\n" + whole, 301, "done", definite},
		{"PUT", "HTTP/1.1 307 Elsewhere\r\nLocation: /b\r\n" + whole, 307, "done", definite},
		{"PUT", "HTTP/1.1 401 Who\r\n" + whole, 401, "done", definite},
		{"PUT", "HTTP/1.1 403 No\r\n" + whole, 403, "done", definite},
		{"PUT", "HTTP/1.1 408 Slow\r\n" + whole, 408, "done", uncertain},
		{"PUT", "HTTP/1.1 412 Precondition Failed\r\n" + whole, 412, "done", definite},
		{"PUT", "HTTP/1.1 499 \r\n" + whole, 499, "done", uncertain},
		{"PUT", "HTTP/1.1 500 Oops\r\n" + whole, 500, "done", uncertain},
		{"PUT", "HTTP/1.1 501 Not Implemented\r\n" + whole, 501, "done", definite},
		{"PUT", "HTTP/1.1 502 Bad Gateway\r\n" + whole, 502, "done", uncertain},
		{"PUT", "HTTP/1.1 503 Busy\r\n" + whole, 503, "done", uncertain},
		{"PUT", "HTTP/1.1 504 Slow\r\n" + whole, 504, "done", uncertain},
		{"PUT", "HTTP/1.1 505 Version\r\n" + whole, 505, "done", definite},
		{"PUT", "HTTP/1.1 507 Full\r\n" + whole, 507, "done", definite},
		{"PUT", "HTTP/1.1 599 \r\n" + whole, 599, "done", uncertain},

		// Where only the status counts, a body that cannot be had is left out.
		{"PUT", "HTTP/1.1 201 Created\r\n" + cut, 201, "", definite},
		{"PUT", "HTTP/1.1 500 Oops\r\n" + cut, 500, "", uncertain},
		{"PUT", "HTTP/1.1 201 Created\r\n" + chunked + "4\r\ndone\r\n0\r\n\r\n", 201, "done", definite},
		{"PUT", "HTTP/1.1 201 Created\r\n" + chunked + "4\r\ndone\r\n", 201, "", definite},
		{"PUT", "HTTP/1.1 201 Created\r\n" + chunked + "zz\r\n", 201, "", definite},
		{"PUT", "HTTP/1.1 201 Created\r\n" + chunked + "4\r\ndone\r\n0\r\nX-T: 1\r\n\r\n", 201, "done", definite},
		{"PUT", "HTTP/1.1 201 Created\r\n" + chunked + "4\r\ndone\r\n0\r\nX-T: 1\r\n", 201, "", definite},
		{"PUT", http10, 200, "done", definite},
		{"PUT", "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + strings.Repeat("x", 9000000), 200, "", definite},

		// Where the body carries the result, its end has to be seen.
		{"PROPPATCH", "HTTP/1.1 207 Multi-Status\r\n" + whole, 207, "done", definite},
		{"PROPPATCH", "HTTP/1.1 207 Multi-Status\r\n" + cut, 0, "", uncertain},
		{"PROPPATCH", "HTTP/1.1 207 Multi-Status\r\n" + chunked + "4\r\ndone\r\n0\r\n\r\n", 207, "done", definite},
		{"PROPPATCH", "HTTP/1.1 207 Multi-Status\r\n" + chunked + "4\r\ndone\r\n", 0, "", uncertain},
		{"PROPPATCH", "HTTP/1.1 207 Multi-Status\r\n\r\ndone", 207, "done", uncertain},
		{"DELETE", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", definite},
		{"DELETE", "HTTP/1.1 200 OK\r\n" + cut, 0, "", uncertain},
		{"DELETE", "HTTP/1.1 404 None\r\n" + whole, 404, "done", definite},
		{"DELETE", http10, 200, "done", uncertain},
		{"MOVE", "HTTP/1.1 201 Created\r\n" + cut, 0, "", uncertain},
		{"COPY", "HTTP/1.1 201 Created\r\n" + cut, 0, "", uncertain},
		{"POST", "HTTP/1.1 200 OK\r\n" + chunked + "4\r\ndone\r\n", 0, "", uncertain},
		{"POST", "HTTP/1.1 200 OK\r\n" + chunked + "4\r\ndone\r\n0\r\n", 0, "", uncertain},
		{"POST", "HTTP/1.1 200 OK\r\n" + chunked + "4\r\ndone\r\n0\r\nX-T: 1", 0, "", uncertain},
		{"POST", "HTTP/1.1 200 OK\r\n" + chunked + "4\r\ndone\r\n0\r\nX-T: 1\r\n", 0, "", uncertain},
		{"POST", "HTTP/1.1 200 OK\r\n" + chunked + "4\r\ndone\r\n0\r\nX-T: 1\r\n\r\n", 200, "done", definite},
		{"DELETE", "HTTP/1.1 200 OK\r\nTrailer: X-T\r\n" + chunked + "4\r\ndone\r\n0\r\nX-T: 1\r\n", 0, "", uncertain},
		{"POST", "HTTP/1.1 200 OK\r\n" + whole, 200, "done", definite},
		{"POST", "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + strings.Repeat("x", 9000000), 0, "", uncertain},
		{"PUT X-Amz-Copy-Source:/b", "HTTP/1.1 200 OK\r\n" + cut, 0, "", uncertain},
		{"PUT X-Amz-Copy-Source:/b", "HTTP/1.1 200 OK\r\n" + whole, 200, "done", definite},

		// Informational answers are none.
		{"PUT", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n" + whole, 201, "done", definite},
		{"PUT", "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 503 Busy\r\n" + whole, 503, "done", uncertain},
		{"PUT", "HTTP/1.1 100 Continue\r\n\r\n", 0, "", uncertain},
		{"PUT", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 0, "", uncertain},
		{"PUT", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 50000), 0, "", uncertain},

		// What is no answer.
		{"PUT", "", 0, "", uncertain},
		{"PUT", "HTTP/1.1 201 Crea", 0, "", uncertain},
		{"PUT", "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n", 0, "", uncertain},
		{"PUT", "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, "", uncertain},
		{"PUT", "HTTP/2.0 200 OK\r\n" + whole, 0, "", uncertain},
		{"PUT", "HTTP/1.2 200 OK\r\n" + whole, 0, "", uncertain},
		{"PUT", "HTTP/0.9 200 OK\r\n" + whole, 0, "", uncertain},
		{"PUT", "HTTP/2.0 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n" + whole, 0, "", uncertain},
		{"PUT", "HTTP/1.1 2O1 Created\r\n\r\n", 0, "", uncertain},
		{"PUT", "HTTP/1.1 099 Early\r\n\r\nHTTP/1.1 201 Created\r\n" + whole, 0, "", uncertain},
		{"PUT", "HTTP/1.1 201 Created\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ndone!", 0, "", uncertain},
		{"PUT", "HTTP/1.1 201 Created\r\n: x\r\n\r\n", 0, "", uncertain},
		{"PUT", "HTTP/1.1 201 Created\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", 0, "", uncertain},
	} {
		t.Run(c.method+" "+strings.Join(strings.Fields(c.answer[:min(len(c.answer), 40)]), " "), func(t *testing.T) {
			newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
				_, u := serve(t, Options{}, answered(c.answer))
				r := request(c.method, "/a")
				if method, header, ok := strings.Cut(c.method, " "); ok {
					r = request(method, "/a", strings.Replace(header, ":", ": ", 1))
				}
				got := u.try(t, r, "body")
				status := 0
				if got.res != nil {
					status = got.res.StatusCode
				}
				if status != c.status || got.body != c.body || got.outcome != c.outcome {
					t.Errorf("%v; want %d %q, %v", got, c.status, c.body, c.outcome)
				}
			})
		})
	}
}

func TestDefiniteStatusesOption(t *testing.T) {
	s := newStore(t, answered("HTTP/1.1 500 Refused\r\n"+whole))
	if got := open(t, s.url(), Options{DefiniteStatuses: []int{500}}).try(t, request("PUT", "/a"), "body"); got.outcome != fence.Definite {
		t.Error(got)
	}
}

// What is left out of an answer must not be described by its headers.
func TestHeadersOfAnswers(t *testing.T) {
	const head = "HTTP/1.1 201 Created\r\nETag: \"1\"\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n" +
		"Connection: close, x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
	for end, want := range map[string]string{
		whole:                            "map[Content-Encoding:[gzip] Content-Length:[4] Content-Type:[text/plain] Etag:[\"1\"] Set-Cookie:[a b]]",
		"Content-Length: 40\r\n\r\ndone": "map[Etag:[\"1\"] Set-Cookie:[a b]]",
		"Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n4\r\ndone\r\n0\r\nX-T: 1\r\n\r\n": "map[Content-Encoding:[gzip] Content-Type:[text/plain] Etag:[\"1\"] Set-Cookie:[a b]]",
	} {
		s := newStore(t, answered(head+end))
		got := open(t, s.url(), Options{}).try(t, request("PUT", "/a"), "body")
		if got.res == nil {
			t.Fatal(got)
		}
		if text := fmt.Sprint(got.res.Header); text != want {
			t.Errorf("headers %s, want %s", text, want)
		}
		if got.res.Trailer != nil || got.res.TransferEncoding != nil {
			t.Errorf("trailer %v, transfer encoding %v", got.res.Trailer, got.res.TransferEncoding)
		}
	}
}

func TestTrickledAnswer(t *testing.T) {
	newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
		_, u := serve(t, Options{}, func(p *peer) {
			p.request()
			for _, b := range "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndone\r\n0\r\nX-T: 1\r\n\r\n" {
				p.say(string(b))
			}
		})
		if got := u.try(t, request("POST", "/a"), "body"); got.outcome != fence.Definite || got.body != "done" {
			t.Error(got)
		}
	})
}

// A head may be larger than what is read at once.
func TestLargeHead(t *testing.T) {
	s := newStore(t, func(p *peer) {
		for {
			p.request()
			p.say("HTTP/1.1 201 Created\r\nX-A: " + large[:100_000] + "\r\n" + strings.Repeat("X-B: 1\r\n", 5000) + "Content-Length: 4\r\n\r\ndone")
		}
	})
	u := open(t, s.url(), Options{Idle: time.Minute})
	for range 3 {
		got := u.try(t, request("POST", "/a"), "body")
		if got.outcome != fence.Definite || got.body != "done" || got.res.Header.Get("X-A") != large[:100_000] || len(got.res.Header["X-B"]) != 5000 {
			t.Errorf("%.200s", got)
		}
	}
}

// What came before the request counts, too.
func TestHeadLimitAfterInformationalAnswers(t *testing.T) {
	for _, left := range []int64{0, 10} {
		s := newStore(t, answered("HTTP/1.1 201 Created\r\n"+whole))
		u := open(t, s.url(), Options{})
		m, err := u.message(request("PUT", "/a"), strings.NewReader("body"), 4)
		if err != nil {
			t.Fatal(err)
		}
		c, err := u.connect(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		c.headLeft = left
		if err := m.fill(true); err != nil {
			t.Fatal(err)
		}
		if res, err := c.ask(m); err == nil || !strings.Contains(err.Error(), "head of the answer") {
			t.Errorf("with %d bytes left of the limit: %v, %v", left, res, err)
		}
		u.drop(c)
		m.free()
	}
}

func TestLostAnswers(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"closed":      func(*peer) {},
		"reset":       func(p *peer) { p.Conn.(*net.TCPConn).SetLinger(0) },
		"half-closed": func(p *peer) { p.Conn.(*net.TCPConn).CloseWrite(); p.wasReset() },
	} {
		t.Run(name, func(t *testing.T) {
			newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
				_, u := serve(t, Options{}, func(p *peer) { p.request(); end(p) })
				got := u.try(t, request("PUT", "/a"), "body")
				if got.res != nil || got.outcome != fence.Uncertain {
					t.Error(got)
				}
			})
		})
	}
}

// An answer follows the last byte at once, in another goroutine: it must not be
// taken for an early one.
func TestQuickAnswersAreNotEarly(t *testing.T) {
	body := strings.Repeat("x", 3*chunk)
	for wants, opts := range map[int64]Options{1000: {}, 1: {Idle: time.Minute}} {
		s := newStore(t, func(p *peer) {
			for {
				p.request()
				p.say("HTTP/1.1 204 Done\r\n\r\n")
				if wants > 1 {
					return
				}
			}
		})
		s.wants = wants
		u := open(t, s.url(), opts)
		for i := range 1000 {
			if got := u.try(t, request(http.MethodPut, "/a"), body[:i*len(body)/1000]); got.outcome != fence.Definite {
				t.Fatalf("write %d: %v", i, got)
			}
		}
		u.Close()
	}
}
