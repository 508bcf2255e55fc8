package proxy

import (
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// Clients that leave while they wait for their turn, with the body of their
// request unread: they free their place at once, and others pass.
func TestClientGoneWithItsBodyUnread(t *testing.T) {
	for _, c := range []struct{ name, request, sent string }{
		{"nothing sent", "PUT /a\nX-Fencing-Token: 5\nContent-Length: 10", ""},
		{"a part sent", "PUT /a\nX-Fencing-Token: 5\nContent-Length: 10", "abc"},
		{"all sent", "PUT /a\nX-Fencing-Token: 5\nContent-Length: 3", "abc"},
		{"much sent", "PUT /a\nX-Fencing-Token: 5\nContent-Length: 1073741824", strings.Repeat("x", 60<<10)},
		{"expecting", "PUT /a\nX-Fencing-Token: 5\nContent-Length: 10\nExpect: 100-continue", ""},
		{"expecting, sent all the same", "PUT /a\nX-Fencing-Token: 5\nContent-Length: 3\nExpect: 100-continue", "abc"},
		{"chunked, nothing sent", "PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked", ""},
		{"chunked, in a chunk", "PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked", "30\r\nabc"},
		{"chunked, all sent", "PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"},
		{"with the next request behind", "PUT /a\nX-Fencing-Token: 5\nContent-Length: 3", "abc" + message("GET /b")},
		{"a tokened read", "GET /a\nX-Fencing-Token: 5\nContent-Length: 10", "abc"},
	} {
		for _, leaves := range []struct {
			name  string
			leave func(*client)
		}{
			{"reset", (*client).reset},
			{"end", func(c *client) { c.Close() }},
			{"half", (*client).endSending},
		} {
			t.Run(c.name+", "+leaves.name, func(t *testing.T) {
				t.Parallel()
				var s *fakeStreamer
				w := open(t, streaming(&s))
				h := w.hold("/a")
				first, begun := "DELETE /a\nX-Fencing-Token: 4", w.dial() // not cut off by newer tokens
				begun.send(first)
				<-h.arrived
				conn := w.dial()
				conn.send(c.request)
				conn.raw(c.sent)
				w.inFlight(1, 1)
				leaves.leave(conn)
				w.inFlight(0, 1)
				harness.Eventually(t, "it to be dropped", func() (any, bool) { n := w.serving.Load(); return n, n == 1 })
				s.took(t, 0)
				w.saw("DELETE /a")
				close(h.release)
				begun.gets(first, stored)
				w.says("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
				w.saw("PUT /a")
				s.cutOff(t)
				if text := w.log.text(); text != "" {
					t.Errorf("the log says\n%s", text)
				}
			})
		}
	}
}

// The watch for those who leave does no harm to those who stay: what comes while
// they wait is their body.
func TestClientThatStaysWithItsBodyUnread(t *testing.T) {
	for i := range harness.Scale(300) {
		var s *fakeStreamer
		w := open(t, streaming(&s))
		h := w.hold("/a")
		first, begun := "DELETE /a\nX-Fencing-Token: 4", w.dial()
		begun.send(first)
		<-h.arrived
		c := w.dial()
		request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 9"
		c.send(request)
		w.inFlight(1, 1)
		c.raw("abc")
		if i%2 == 0 {
			c.raw("def")
		}
		close(h.release) // at about the time at which more comes
		if i%2 == 1 {
			c.raw("def")
		}
		c.raw("ghi")
		begun.gets(first, stored)
		c.gets(request, stored)
		c.asks(request+"\n\nabcdefghi", stored)
		if got := w.store.requests(); len(got) != 3 || got[1].body != "abcdefghi" || got[2].body != "abcdefghi" {
			t.Fatalf("the store was sent %+v", got)
		}
		c.Close()
		begun.Close()
	}
}
