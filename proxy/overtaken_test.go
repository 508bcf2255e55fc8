package proxy

import (
	"strings"
	"testing"

	"fencegate/fence"
)

var isStale = want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5", closes: true}

// A newer token stops an older upload at once, however it is sent, and the
// client learns why although it has not sent everything.
func TestUploadIsStoppedWhenOvertaken(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, head, begin string
		received          int
		proceed           bool // 100 Continue comes before the begin is sent
	}{
		{name: "nothing sent yet", head: "Content-Length: 10"},
		{name: "small, begun", head: "Content-Length: 10", begin: "abc", received: 3},
		{name: "large, begun", head: "Content-Length: 1073741824", begin: "abc", received: 3},
		{name: "large, in a file", head: "Content-Length: 1073741824", begin: long + "abc", received: 1<<20 + 3},
		{name: "chunked, nothing sent yet", head: "Transfer-Encoding: chunked"},
		{name: "chunked, begun", head: "Transfer-Encoding: chunked", begin: "3\r\nabc\r\n", received: 3},
		{name: "chunked, in a chunk", head: "Transfer-Encoding: chunked", begin: "30\r\nabc", received: 3},
		{name: "expecting, nothing sent yet", head: "Content-Length: 10\nExpect: 100-continue", proceed: true},
		{name: "expecting, begun", head: "Content-Length: 10\nExpect: 100-continue", begin: "abc", received: 3, proceed: true},
	} {
		for _, stager := range []bool{false, true} {
			var s *fakeStager
			var changes []func(*plan)
			name := c.name
			if stager {
				name += ", store stages"
				changes = append(changes, staging(&s))
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := open(t, changes...)
				old := w.dial()
				request := "PUT /a\nX-Fencing-Token: 4\n" + c.head
				old.send(request)
				if c.proceed {
					old.proceeds()
				}
				old.raw(c.begin)
				w.inFlight(1, 0)
				w.received(c.received)
				w.says("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
				w.inFlight(0, 0) // at once, not when the client gets on
				old.gets(request, isStale)
				w.saw("PUT /a")
				if stager {
					s.wants(t, 1, 1, 0)
				}
			})
		}
	}
}

// proceeds takes the answer that lets the body be sent.
func (c *client) proceeds() {
	c.t.Helper()
	if a := c.answer("PUT"); a.StatusCode != 100 {
		c.t.Fatalf("answer %d, want 100", a.StatusCode)
	}
}

func TestOvertakenWhileWaiting(t *testing.T) {
	w := open(t)
	release := w.occupy("/a") // with token 4
	waits := w.dial()
	request := "PUT /a\nX-Fencing-Token: 5\n\nv5"
	waits.send(request)
	w.inFlight(1, 1)
	claim := w.dial()
	claim.send("POST " + claimsPath + "\n\n" + `{"resource":"/a","token":"6"}`)
	waits.gets(request, want{status: 412, reason: fence.StaleToken, resource: "/a", token: "5", highest: "6"})
	waits.asks("GET /a", read) // nothing unread: the connection is kept
	w.inFlight(1, 1)           // the claim waits until token 4 can no longer take effect
	release()
	if a := claim.answer("POST"); a.StatusCode != 200 {
		t.Errorf("claim: %d %s", a.StatusCode, a.text)
	}
	w.saw("PUT /a", "GET /a")
}

// A tokened read is a cut: what it returns, no older write may change any more.
func TestTokenedReadWaitsForLowerWrites(t *testing.T) {
	w := open(t)
	release := w.occupy("/a") // with token 4
	reader := w.dial()
	request := "GET /a\nX-Fencing-Token: 5\nRange: bytes=0-1"
	reader.send(request)
	w.inFlight(1, 1)
	w.saw("PUT /a")
	w.says("GET /a", read)                     // others do not wait
	w.says("GET /b\nX-Fencing-Token: 1", read) // nor do other resources
	w.saw("GET /a", "GET /b")
	release()
	reader.gets(request, read)
	if got := w.store.requests(); len(got) != 1 || got[0].header.Get("Range") != "bytes=0-1" {
		t.Errorf("the store was sent %+v, want the GET with its Range", got)
	}
	w.says("PUT /a\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
}

// The end of an upload and the newer token may come at the same time; whoever
// wins, there is one answer, and what follows on the connection is not harmed.
func TestOvertakenAtTheEndOfTheBody(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	w := open(t)
	newer := w.dial()
	for i := range rounds {
		old := w.dial()
		request := "PUT /a\nX-Fencing-Token: " + fence.Token(2*i+1).String() + "\nContent-Length: 6"
		old.send(request)
		old.raw("abc")
		w.received(3)
		newer.send("PUT /a\nX-Fencing-Token: " + fence.Token(2*i+2).String() + "\n\nnew")
		old.raw("def")
		if a := newer.answer("PUT"); a.StatusCode != 201 {
			t.Fatalf("newer: %d %s", a.StatusCode, a.text)
		}
		a := old.answer("PUT")
		if a.StatusCode != 201 && a.StatusCode != 412 {
			t.Fatalf("older: %d %s", a.StatusCode, a.text)
		}
		if !a.Close { // then it must be as good as new
			old.asks("GET /b\nX-Fencing-Token: 1", read)
		}
		old.Close()
	}
}
