package proxy

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// A client that goes away before its body has arrived leaves nothing behind
// but the mark.
func TestClientGoneWhileSending(t *testing.T) {
	for _, stages := range []bool{false, true} {
		var s *fakeStager
		var changes []func(*plan)
		if stages {
			changes = append(changes, staging(&s))
		}
		w := open(t, changes...)
		for _, begin := range []string{"", "abc", strings.Repeat("x", 2<<20)} {
			c := w.dial()
			c.send("PUT /a\nX-Fencing-Token: 5\nContent-Length: 10000000")
			c.raw(begin)
			w.received(len(begin))
			w.inFlight(1, 0)
			c.reset()
			w.inFlight(0, 0)
			w.ended()
			w.received(0)
			w.saw()
		}
		if stages {
			s.wants(t, 0, 0, 0)
		}
		w.says("PUT /a\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	}
}

func TestClientGoneWhileWaiting(t *testing.T) {
	for _, stages := range []bool{false, true} {
		var s *fakeStager
		var changes []func(*plan)
		if stages {
			changes = append(changes, staging(&s))
		}
		w := open(t, changes...)
		release := w.occupy("/a") // with token 4
		for _, request := range []string{
			"PUT /a\nX-Fencing-Token: 5\n\nv5", "GET /a\nX-Fencing-Token: 5", "DELETE /a\nX-Fencing-Token: 5",
			"POST " + claimsPath + "\n\n" + `{"resource":"/a","token":"5"}`,
		} {
			c := w.dial()
			c.send(request)
			w.inFlight(1, 1)
			c.reset()
			w.inFlight(0, 1)
		}
		release()
		w.ended()
		w.saw("PUT /a")
		if stages {
			s.wants(t, 2, 1, 1)
		}
		// Nobody was there to be refused.
		if text := w.log.text(); text != "" {
			t.Errorf("the log says\n%s", text)
		}
		w.each(func(series string, m *dto.Metric) {
			if strings.HasPrefix(series, "fencegate_rejections_total") && (m.Counter.GetValue() != 0 || strings.Contains(series, "client_gone")) {
				t.Errorf("%s is %v, want none", series, m.Counter.GetValue())
			}
		})
	}
}

// Once begun a write no longer depends on its client.
func TestClientGoneAfterBegin(t *testing.T) {
	for _, stages := range []bool{false, true} {
		var s *fakeStager
		changes := []func(*plan){watching}
		if stages {
			changes = append(changes, staging(&s))
		}
		w := open(t, changes...)
		h := w.hold("/a")
		c := w.dial()
		c.send("PUT /a\nX-Fencing-Token: 5\n\nv5")
		<-h.arrived
		c.reset()
		harness.Eventually(t, "the client to be missed", func() (any, bool) { n := w.left.Load(); return n, n == 1 })
		next := w.dial()
		request := "PUT /a\nX-Fencing-Token: 6\n\nv6"
		next.send(request)
		w.inFlight(1, 1) // it is still waited for
		close(h.release)
		next.gets(request, stored)
		w.ended()
		if n := w.gauge("fencegate_uncertain_total"); n != 0 {
			t.Errorf("%v writes were cut off with their client", n)
		}
		if got := w.store.requests(); len(got) != 2 || got[0].body != "v5" || got[1].body != "v6" {
			t.Errorf("the store was sent %+v", got)
		}
		if stages {
			s.wants(t, 2, 2, 0)
		}
	}
}

// A client that has sent everything and closes its sending side is taken for
// gone: what has not begun is withdrawn. What has begun is answered.
func TestHalfClosedIsGone(t *testing.T) {
	w := open(t, watching)
	h := w.hold("/a")
	begun := w.dial()
	first := "PUT /a\nX-Fencing-Token: 5\n\nv5"
	begun.send(first)
	<-h.arrived
	begun.endSending()
	harness.Eventually(t, "the first client to be missed", func() (any, bool) { n := w.left.Load(); return n, n == 1 })
	waiting := w.dial()
	waiting.send("PUT /a\nX-Fencing-Token: 6\n\nv6")
	w.inFlight(1, 1)
	waiting.endSending()
	waiting.cut()
	w.inFlight(0, 1)
	close(h.release)
	begun.gets(first, stored)
	w.saw("PUT /a")
}

// reset ends the connection at once.
func (c *client) reset() {
	c.t.Helper()
	if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
		c.t.Fatal(err)
	}
	c.Close()
}

// When the server is closed under an upload, the upload is no complete one.
func TestServerIsClosedDuringAnUpload(t *testing.T) {
	var s *fakeStager
	w := open(t, staging(&s))
	begun, closed := make(chan struct{}), make(chan struct{})
	var failure error
	s.prepare = func(_ *http.Request, body io.Reader) error {
		if _, err := io.ReadFull(body, make([]byte, 3)); err != nil {
			return err
		}
		close(begun)
		<-closed
		_, failure = io.Copy(io.Discard, body)
		return failure
	}
	c := w.dial()
	c.send("PUT /a\nX-Fencing-Token: 5\nContent-Length: 6\n\nabc")
	<-begun
	w.server.Close()
	close(closed)
	c.cut()
	w.ended()
	w.saw()
	s.wants(t, 0, 0, 0)
	if failed := (bodyError{}); !errors.As(failure, &failed) || failed.Reason != fence.ClientGone {
		t.Errorf("reading the body failed with %v, want %s", failure, fence.ClientGone)
	}
	if text := w.log.text(); strings.Contains(text, "panic") {
		t.Errorf("the log says\n%s", text)
	}
}
