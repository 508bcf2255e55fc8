package proxy

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"fencegate/fence"
)

// What a store has prepared is committed or aborted, once, on every way.
func TestStagerEndsWhatItPrepared(t *testing.T) {
	var s *fakeStager
	w := open(t, staging(&s), maxWait(300*time.Millisecond))
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", stored)
	s.wants(t, 1, 1, 0)
	w.says("DELETE /b\nX-Fencing-Token: 5", stored) // nothing to stage
	s.wants(t, 1, 1, 0)
	w.says("PUT /a\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	s.wants(t, 1, 1, 0)

	release := w.occupy("/c") // with token 4
	w.says("PUT /c\nX-Fencing-Token: 5\n\nv", want{status: 503, reason: fence.Busy, resource: "/c", token: "5"})
	w.inFlight(0, 1)
	s.wants(t, 3, 2, 1)
	release()

	s.prepare = func(*http.Request, io.Reader) error { return errors.New("disk on fire") }
	w.says("PUT /d\nX-Fencing-Token: 5\n\nv", want{status: 502, reason: reasonUnreachable, resource: "/d", token: "5"})
	s.prepare = func(*http.Request, io.Reader) error { return ownAnswer{storeSays(409, "not here")} }
	w.says("PUT /d\nX-Fencing-Token: 5\n\nv", want{status: 409, body: "not here"})
	w.says("PUT /d\nX-Fencing-Token: 5\nExpect: 100-continue\nContent-Length: 10", want{status: 409, body: "not here", closes: true})
	w.says("PUT /d\nX-Fencing-Token: 5\nContent-Length: 1000000", want{status: 409, body: "not here", closes: true})
	s.prepare = func(*http.Request, io.Reader) error { panic("a bug") }
	c := w.dial()
	c.send("PUT /d\nX-Fencing-Token: 5\n\nv")
	c.cut()
	w.ended()
	s.prepare = func(_ *http.Request, body io.Reader) error {
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		panic("a bug after the body")
	}
	c = w.dial()
	c.send("PUT /d\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n2\r\nv1\r\n0\r\n\r\n")
	c.cut()
	w.ended()
	w.received(0)
	s.wants(t, 3, 2, 1)
	w.saw("PUT /a", "DELETE /b", "PUT /c")
}

// A store may answer before it has read the body. What becomes of the request's
// mark then no longer concerns its connection.
func TestStagerAnswersEarly(t *testing.T) {
	var s *fakeStager
	w := open(t, staging(&s))
	s.prepare = func(r *http.Request, body io.Reader) error {
		if _, err := io.ReadFull(body, make([]byte, 3)); err != nil {
			return err
		}
		return ownAnswer{storeSays(507, "full")}
	}
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 6"
	c.send(request)
	c.raw("abc")
	c.gets(request, want{status: 507, body: "full"})
	w.claims(`{"resource":"/a","token":"6"}`, `{"resources":[{"resource":"/a","covers":"object"}],"token":"6","ledger":"ledger-1"}`)
	c.raw("def")
	c.asks("GET /a\nX-Fencing-Token: 6", read)
	s.wants(t, 0, 0, 0)
}

// A store that finds a body too short itself is answered like one that did not.
func TestStagerSeesErrorsOfTheBody(t *testing.T) {
	var s *fakeStager
	w := open(t, staging(&s))
	var seen error
	s.prepare = func(_ *http.Request, body io.Reader) error {
		_, seen = io.Copy(io.Discard, body)
		return errors.Join(errors.New("receiving"), seen)
	}
	c := w.dial()
	request := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 10"
	c.send(request)
	c.raw("short")
	c.endSending()
	c.gets(request, want{status: 400, reason: reasonMalformed, resource: "/a", token: "5", closes: true})
	w.ended()
	if failed := (bodyError{}); !errors.As(seen, &failed) {
		t.Errorf("the store saw the error %v", seen)
	}
}
