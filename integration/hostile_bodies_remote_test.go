package integration

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// Bodies that end early, are too large or lie about their length have an answer
// each, and the store is not even connected to.
func TestHostileBodiesDoNotReachTheStore(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	s := harness.Fencegate(t, "--upstream", "http://"+l.Addr().String(), "--settle", "100ms", "--max-body", "2000", "--spool-quota", "3000")
	const head = "PUT /%d HTTP/1.1\nHost: x\nX-Fencing-Token: 5\n"
	part := strings.Repeat("x", 1500)
	for i, c := range []struct{ name, rest, body, answer string }{
		{"nothing of it", "Content-Length: 10", "", "400 request_malformed"},
		{"a part of it", "Content-Length: 10", "short", "400 request_malformed"},
		{"a chunk short of its size", "Transfer-Encoding: chunked", "a\nshort", "400 request_malformed"},
		{"a chunk beyond its size", "Transfer-Encoding: chunked", "3\nabcd\n0\n\n", "400 request_malformed"},
		{"no last chunk", "Transfer-Encoding: chunked", "5\nshort\n", "400 request_malformed"},
		{"half a last chunk", "Transfer-Encoding: chunked", "5\nshort\n0\n", "400 request_malformed"},
		{"no chunks", "Transfer-Encoding: chunked", "not a chunk\n\n", "400 request_malformed"},
		{"a trailer that fences", "Transfer-Encoding: chunked", "1\nv\n0\nX-Fencing-Token: 6\n\n", "400 token_malformed"},
		{"more than may come", "Content-Length: 2001", "", "413 body_too_large"},
		{"more than may come, expecting", "Content-Length: 2001\nExpect: 100-continue", "", "413 body_too_large"},
		{"more than may come, undeclared", "Transfer-Encoding: chunked", "5dc\n" + part + "\n5dc\n" + part + "\n0\n\n", "413 body_too_large"},
	} {
		w := dial(t, s)
		w.send(fmt.Sprintf(head, i) + c.rest + "\n\n" + c.body)
		if err := w.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		w.says(c.answer, http.MethodPut)
	}
	// Over the quota is what comes beside another body.
	u := startUpload(s, "/beside", stampOf(5, "holder"))
	u.arrive(t, s, part)
	w := dial(t, s)
	w.send(fmt.Sprintf(head, 100) + "Content-Length: 1501\n\n")
	w.says("507 spool_full", http.MethodPut)
	w = dial(t, s)
	w.send(fmt.Sprintf(head, 101) + "Transfer-Encoding: chunked\n\n5dd\n" + part + "x\n0\n\n")
	w.says("507 spool_full", http.MethodPut)
	u.body.CloseWithError(fmt.Errorf("cut off"))
	<-u.answer
	harness.Eventually(t, "it to be forgotten", func() (any, bool) {
		now := s.Metrics()
		return now.Gauge("fencegate_spool_bytes"), now.Gauge("fencegate_spool_bytes") == 0 && now.Gauge("fencegate_waiting_requests") == 0
	})
	if n := connections.Load(); n != 0 {
		t.Errorf("the store was connected to %d times, want never", n)
	}
	// It would have been: a good one gets there, and no answer.
	if a, err := send(fresh, http.MethodPut, s.URL()+"/good", fence.Stamp{Token: 5}, strings.NewReader("v")); err != nil || a.status/100 != 5 || connections.Load() != 1 {
		t.Errorf("a good body is answered %v, %v, and the store was connected to %d times", a, err, connections.Load())
	}
}
