package main

import (
	"io"
	"net"
	"strings"
	"testing"
)

// What shows that a stalled client was there to the end must fail if it was not.
func TestStalledClientsMustStillBeThere(t *testing.T) {
	const (
		request = "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe"
		answer  = "HTTP/1.1 204 No Content\r\n\r\n"
		refusal = "HTTP/1.1 408 Request Timeout\r\nX-Fencing-Reason: body_timeout\r\n\r\n"
	)
	whole := func(then string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = io.CopyN(io.Discard, c, int64(len(request)+3))
			_, _ = io.WriteString(c, then)
		}
	}
	for _, c := range []struct {
		name  string
		early bool // the server is done before the client goes on
		serve func(net.Conn)
		want  string
	}{
		{"kept", false, whole(answer), ""},
		{"closed", true, func(net.Conn) {}, "lost its connection"},
		{"answered", true, func(c net.Conn) { _, _ = io.WriteString(c, answer) }, "got an answer while it was stalled"},
		{"closed in the end", false, whole(""), "no answer to the whole body"},
		{"refused", false, whole(refusal), "408 Request Timeout body_timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if conn, err := l.Accept(); err == nil {
					c.serve(conn)
					conn.Close()
				}
			}()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			if c.early {
				<-ended
			}
			err = stalled{{conn, 3}}.finish()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			<-ended
		})
	}
}
