package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// startLightSink returns a connection to a new sink.
func startLightSink(t *testing.T) (*lightSink, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, ended := new(lightSink), make(chan struct{})
	go func() { _ = s.serve(l); close(ended) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); l.Close(); <-ended })
	return s, c
}

func TestLightSinkKeepsConnectionsAndCounts(t *testing.T) {
	_, c := startLightSink(t)
	answers := bufio.NewReader(c)
	say := func(request string, status int, close bool) string {
		t.Helper()
		// In pieces, as a network may deliver it.
		for _, part := range []string{request[:len(request)/2], request[len(request)/2:]} {
			if _, err := io.WriteString(c, part); err != nil {
				t.Fatal(err)
			}
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("after %q: %v", request, err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status || res.Close != close {
			t.Fatalf("after %q: %s, close %v, %q, %v; want %d, %v", request, res.Status, res.Close, body, err, status, close)
		}
		return string(body)
	}
	large := strings.Repeat("GET /count HTTP/1.1\r\n\r\n", 10_000) // larger than any buffer, and like a request
	say("PUT /a HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\nhello", 204, false)
	say("PUT /a HTTP/1.1\r\nHost: x\r\n\r\n", 204, false)
	say(fmt.Sprintf("PUT /b HTTP/1.1\nContent-Length:%d\n\n%s", len(large), large), 204, false)
	if got, want := say("GET /count HTTP/1.1\r\nHost: x\r\n\r\n", 200, false), fmt.Sprintf("3 %d", len(large)+5); got != want {
		t.Errorf("the counts are %q, want %q", got, want)
	}
	if got := say("GET /other HTTP/1.1\r\nHost: x\r\n\r\n", 200, false); len(got) != kibLen {
		t.Errorf("a read has %d bytes, want %d", len(got), kibLen)
	}
	say("PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, true)
	if _, err := answers.ReadByte(); err != io.EOF {
		t.Errorf("after a bad request the connection gives %v, want its end", err)
	}
}

func TestLightSinkClosesWhenAskedTo(t *testing.T) {
	_, c := startLightSink(t)
	if _, err := io.WriteString(c, "PUT /a HTTP/1.1\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil || string(all) != string(noContent) {
		t.Errorf("got %q, %v; want the answer and the end", all, err)
	}
}

func TestLightSinkRefuses(t *testing.T) {
	for _, request := range []string{
		"DELETE /a HTTP/1.1\r\n\r\n",
		"PUT /a HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"PUT /a HTTP/1.1\r\nContent-Length: x\r\n\r\n",
	} {
		s, c := startLightSink(t)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		if all, err := io.ReadAll(c); err != nil || string(all) != string(malformed) {
			t.Errorf("%q is answered %q, %v; want 400 and the end", request, all, err)
		}
		if n := s.writes.Load(); n != 0 {
			t.Errorf("after %q %d writes are counted, want none", request, n)
		}
	}
}

// A write that is cut off must not count: the counts are what shows that a proxy
// delivers whole what it has confirmed.
func TestLightSinkForgetsWhatIsCutOff(t *testing.T) {
	s, c := startLightSink(t)
	if _, err := io.WriteString(c, "PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(c); err != nil || len(all) > 0 {
		t.Errorf("half a body is answered %q, %v; want the end", all, err)
	}
	if n := s.writes.Load(); n != 0 {
		t.Errorf("%d writes are counted, want none", n)
	}
}
