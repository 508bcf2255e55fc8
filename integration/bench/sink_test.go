package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSinkCountsAndReads(t *testing.T) {
	s := httptest.NewServer(newHTTPSink())
	defer s.Close()
	say := func(method, path, body string, status int) string {
		t.Helper()
		r, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status || res.Close {
			t.Fatalf("%s %s: %s, close %v, %v; want %d", method, path, res.Status, res.Close, err, status)
		}
		return string(text)
	}
	large := strings.Repeat("x", 1<<20) // larger than its buffer
	say("PUT", "/a", "hello", 204)
	say("PUT", "/a", "", 204)
	say("PUT", "/b", large, 204)
	say("DELETE", "/a", "", 405)
	if got := say("GET", "/a", "", 200); len(got) != kibLen {
		t.Errorf("a read has %d bytes, want %d", len(got), kibLen)
	}
	if got, want := say("GET", countPath, "", 200), fmt.Sprintf("3 %d", len(large)+5); got != want {
		t.Errorf("the counts are %q, want %q", got, want)
	}
}

// A write that is cut off must not count: the counts are what shows that a proxy
// delivers whole what it has confirmed.
func TestSinkForgetsWhatIsCutOff(t *testing.T) {
	sink := newHTTPSink()
	s := httptest.NewServer(sink)
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(c); err != nil || strings.HasPrefix(string(all), "HTTP/1.1 2") {
		t.Errorf("half a body is answered %q, %v", all, err)
	}
	if got := sink.String(); got != "0 0" {
		t.Errorf("the counts are %q, want none", got)
	}
}
