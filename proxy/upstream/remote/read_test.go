package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"fencegate/fence"
)

func TestReads(t *testing.T) {
	for _, c := range []struct {
		method string
		answer string
		status int
		header string
		body   string
	}{
		{"GET", "HTTP/1.1 200 OK\r\nETag: \"1\"\r\n" + whole, 200, `map[Content-Length:[4] Etag:["1"]]`, "done"},
		{"GET", "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Encoding: gzip\r\n" + whole, 200, "map[Content-Encoding:[gzip] Content-Length:[4] Content-Type:[a/b]]", "done"},
		{"GET", "HTTP/1.1 200 OK\r\nConnection: close, x-hop\r\nConnection: X-Hop2\r\nX-Hop: 1\r\nX-Hop2: 1\r\nX-End: 1\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nProxy-Authenticate: x\r\n" + whole, 200,
			"map[Content-Length:[4] X-End:[1]]", "done"},
		{"GET", "HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-3/9\r\n" + whole, 206, "map[Content-Length:[4] Content-Range:[bytes 0-3/9]]", "done"},
		{"GET", "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n", 304, `map[Etag:["1"]]`, ""},
		{"GET", "HTTP/1.1 404 None\r\n" + whole, 404, "map[Content-Length:[4]]", "done"},
		{"GET", "HTTP/1.1 302 Found\r\nLocation: /b\r\n" + whole, 302, "map[Content-Length:[4] Location:[/b]]", "done"},
		{"GET", "HTTP/1.1 502 Bad\r\n" + whole, 502, "map[Content-Length:[4]]", "done"},
		{"GET", "HTTP/1.0 200 OK\r\n\r\ndone", 200, "map[]", "done"},
		{"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n4\r\ndone\r\n0\r\nX-T: 1\r\n\r\n", 200, "map[]", "done"},
		{"GET", "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n" + whole, 200, "map[Content-Length:[4]]", "done"},
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n", 200, "map[Content-Length:[9000000000]]", ""},
		{"OPTIONS", "HTTP/1.1 200 OK\r\nDAV: 1\r\nContent-Length: 0\r\n\r\n", 200, "map[Content-Length:[0] Dav:[1]]", ""},
	} {
		t.Run(c.method+" "+c.answer[9:20], func(t *testing.T) {
			s := newStore(t, answered(c.answer))
			w := httptest.NewRecorder()
			outcome, err := open(t, s.url(), Options{}).Read(w, request(c.method, "/a"))
			if outcome != fence.Definite || err != nil {
				t.Fatalf("%v %v", outcome, err)
			}
			if got := fmt.Sprint(w.Result().Header); w.Code != c.status || got != c.header || w.Body.String() != c.body {
				t.Errorf("%d %s %q; want %d %s %q", w.Code, got, w.Body, c.status, c.header, c.body)
			}
		})
	}
}

func TestReadsWithoutAnswer(t *testing.T) {
	for name, script := range map[string]func(*peer){
		"closed":   func(p *peer) { p.request() },
		"garbage":  answered("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
		"101":      answered("HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n"),
		"only 100": answered("HTTP/1.1 100 Continue\r\n\r\n"),
		"too long": answered("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, script)
			outcome, err := open(t, s.url(), Options{}).Read(unwritten{t}, request("GET", "/a"))
			if outcome != fence.Uncertain || err == nil {
				t.Errorf("%v %v", outcome, err)
			}
		})
	}
}

// unwritten is a writer that must not be used.
type unwritten struct{ t *testing.T }

func (w unwritten) Header() http.Header { return http.Header{} }
func (w unwritten) WriteHeader(status int) {
	w.t.Errorf("the client was answered %d", status)
}
func (w unwritten) Write(b []byte) (int, error) {
	w.t.Errorf("the client was sent %q", b)
	return len(b), nil
}

func TestReadTimeout(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "part of a head": "HTTP/1.1 200 OK\r\n", "100": "HTTP/1.1 100 Continue\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(p *peer) {
				p.request()
				p.say(said)
				p.wasReset()
			})
			outcome, err := open(t, s.url(), Options{ReadTimeout: 30 * time.Millisecond}).Read(unwritten{t}, request("GET", "/a"))
			if outcome != fence.Uncertain || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "30ms") {
				t.Errorf("%v %v", outcome, err)
			}
		})
	}
}

// The timeout is for the head: a body may take longer.
func TestReadTimeoutIsOverWithTheHead(t *testing.T) {
	const timeout = 100 * time.Millisecond
	s := newStore(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndo")
		time.Sleep(2 * timeout) // time has to pass: nothing shall happen in it
		p.say("ne")
	})
	w := httptest.NewRecorder()
	outcome, err := open(t, s.url(), Options{ReadTimeout: timeout}).Read(w, request("GET", "/a"))
	if outcome != fence.Definite || err != nil || w.Body.String() != "done" {
		t.Errorf("%v %v %q", outcome, err, w.Body)
	}
}

func TestReadUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	outcome, err := open(t, "http://"+l.Addr().String(), Options{}).Read(unwritten{t}, request("GET", "/a"))
	if outcome != fence.NotSent || err == nil {
		t.Errorf("%v %v", outcome, err)
	}
}

func TestQuestions(t *testing.T) {
	var head, body string
	s := newStore(t, func(p *peer) {
		head, body = p.request()
		p.say("HTTP/1.1 207 Multi-Status\r\n" + whole)
	})
	u := open(t, s.url(), Options{})
	r := request("PROPFIND", "/a%20b/", "Depth: 1", "Transfer-Encoding: chunked")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader("<propfind/>")), -1
	w := httptest.NewRecorder()
	if outcome, err := u.Read(w, r); outcome != fence.Definite || err != nil || w.Code != 207 {
		t.Fatalf("%v %v %d", outcome, err, w.Code)
	}
	broken := errors.New("client gone")
	for _, body := range []io.Reader{strings.NewReader(large[:maxQuestion+1]), iotest.ErrReader(broken)} {
		r.Body = io.NopCloser(body)
		if outcome, err := u.Read(unwritten{t}, r); outcome != fence.NotSent || err == nil {
			t.Errorf("%v %v", outcome, err)
		}
	}
	s.stop()
	want := "PROPFIND /a%20b/ HTTP/1.1\r\nHost: " + s.Addr().String() + "\r\nContent-Length: 11\r\nDepth: 1\r\nConnection: close\r\n\r\n"
	if head != want || body != "<propfind/>" {
		t.Errorf("got  %q %q\nwant %q", head, body, want)
	}
}

// front serves u as the proxy does, and passes on what Read returns.
func front(t *testing.T, u *Remote) (*httptest.Server, chan error) {
	t.Helper()
	results := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outcome, err := u.Read(w, r)
		if outcome != fence.Definite {
			t.Errorf("outcome %v", outcome)
		}
		results <- err
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	return server, results
}

// What has arrived is passed on although more is to come.
func TestReadIsNotHeldBack(t *testing.T) {
	more := make(chan string)
	s := newStore(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for text := range more {
			p.say(chunkOf(text))
		}
		p.say("0\r\n\r\n")
	})
	server, results := front(t, open(t, s.url(), Options{}))
	res, err := server.Client().Get(server.URL + "/a") // returns with the head alone
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got := bufio.NewReader(res.Body)
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		more <- text
		if line, err := got.ReadString('\n'); line != text || err != nil {
			t.Fatalf("%q %v", line, err)
		}
	}
	close(more)
	if rest, err := io.ReadAll(got); len(rest) > 0 || err != nil {
		t.Errorf("%q %v", rest, err)
	}
	if err := <-results; err != nil {
		t.Error(err)
	}
	if _, ok := res.Header["Content-Type"]; ok {
		t.Errorf("a content type was made up: %v", res.Header)
	}
}

// The client must notice that an answer broke off.
func TestBrokenAnswerToRead(t *testing.T) {
	for name, answer := range map[string]string{
		"length": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndone",
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndone\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, answered(answer))
			server, results := front(t, open(t, s.url(), Options{}))
			res, err := server.Client().Get(server.URL + "/a")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err == nil {
				t.Errorf("the client takes %q for the whole body", body)
			}
			if err := <-results; !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Error(err)
			}
		})
	}
}

// A client that leaves frees the store.
func TestReaderGone(t *testing.T) {
	s := newStore(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndone")
		p.wasReset()
	})
	server, results := front(t, open(t, s.url(), Options{}))
	res, err := server.Client().Get(server.URL + "/a")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
