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

// What an earlier load has left would be taken for what stalled clients have
// sent, or hide it.
func TestStalledClientsComeAfterTheEarlierLoad(t *testing.T) {
	left := []string{"1024 0", "0 1", "0 0", "7 7"}
	asked := 0
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var bytes, writes int
		_, _ = fmt.Sscan(left[asked], &bytes, &writes)
		asked++
		fmt.Fprintf(w, "fencegate_spool_bytes %d\nfencegate_inflight_writes %d\n", bytes, writes)
	}))
	defer admin.Close()
	defer client.CloseIdleConnections()
	m, err := idle(t.Context(), &server{admin: admin.Listener.Addr().String()})
	if err != nil || asked != 3 || m["fencegate_spool_bytes"] != 0 {
		t.Errorf("got %v, %v after %d questions, want the third answer", m, err, asked)
	}
}
