package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

var missing = want{status: 428, reason: fence.TokenMissing, resource: "/a"}

func closing(w want) want { w.closes = true; return w }

// A refusal comes before the body has, and says whether the connection can be
// used again: 256 KiB of unread body are worth reading, more is not.
func TestRefusedBeforeTheBody(t *testing.T) {
	const little, much = 256 << 10, 256<<10 + 1
	sized := func(n int) string { return fmt.Sprintf("Content-Length: %d", n) }
	for _, c := range []struct {
		name, head, body string
		closes           bool
	}{
		{"no body", "", "", false},
		{"little", sized(little), strings.Repeat("x", little), false},
		{"much", sized(much), strings.Repeat("x", much), true},
		{"much, not sent", sized(much), "", true},
		{"1 GiB, not sent", sized(1 << 30), "", true},
		{"expecting, little", sized(little) + "\nExpect: 100-continue", "", true},
		{"expecting, much", sized(much) + "\nExpect: 100-Continue", "", true},
		{"chunked, little", "Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n", false},
		{"chunked, expecting", "Transfer-Encoding: chunked\nExpect: 100-continue", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			conn := w.dial()
			request := "PUT /a\n" + c.head
			conn.send(request)
			refusal := missing
			refusal.closes = c.closes
			conn.answer("PUT").is(request, refusal) // before any of the body
			if c.closes {
				conn.closed()
				return
			}
			conn.raw(c.body)
			conn.asks("GET /a", read)
			w.saw("GET /a")
		})
	}
}

// The same where the client has sent everything at once, with its next request.
func TestRefusedWithTheNextRequestBehind(t *testing.T) {
	w := open(t)
	c := w.dial()
	first := "PUT /a\n\n" + strings.Repeat("x", 256<<10)
	chunked := "PUT /a\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n"
	go c.Write([]byte(message(first) + message("GET /b") + message(chunked) + message("GET /c")))
	c.gets(first, missing)
	c.gets("GET /b", read)
	c.gets(chunked, missing)
	c.gets("GET /c", read)
	w.saw("GET /b", "GET /c")
}

// Who sends first and reads later must find the answer, not a reset.
func TestAnswerSurvivesASlowUpload(t *testing.T) {
	for _, head := range []string{"Content-Length: 4194304", "Transfer-Encoding: chunked"} {
		t.Run(head, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			c := w.dial()
			c.send("PUT /a\n" + head)
			piece := strings.Repeat("x", 64<<10)
			if strings.HasPrefix(head, "T") {
				piece = "10000\r\n" + piece + "\r\n"
			}
			for range 64 {
				c.raw(piece)
				time.Sleep(5 * time.Millisecond) // the slow client that this is about
			}
			refusal := missing
			refusal.closes = strings.HasPrefix(head, "C") // how much a chunked body is, nobody knows
			c.answer("PUT").is("PUT /a", refusal)
			c.closed()
			w.saw()
		})
	}
}

// A client that goes on sending is read from for a while only.
func TestLingeringIsBounded(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.dial()
	c.send("PUT /a\nContent-Length: 1073741824")
	c.answer("PUT").is("PUT /a", closing(missing))
	piece, sent := []byte(strings.Repeat("x", 1<<20)), 0
	for sent < 1<<30 {
		n, err := c.Write(piece)
		sent += n
		if err != nil {
			break
		}
	}
	// What the kernels hold in between comes on top.
	if most := lingerBytes + 32<<20; sent > most {
		t.Errorf("%d bytes of a refused body were taken, want at most about %d", sent, most)
	}
}

// What is left of a refused body is never taken for a request.
func TestBodyIsNeverARequest(t *testing.T) {
	evil := "GET /evil HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, c := range []struct{ name, request string }{
		{"little", "PUT /a\n\n" + evil},
		{"much", "PUT /a\n\n" + strings.Repeat(evil, 20000)},
		{"expecting but sent", "PUT /a\nExpect: 100-continue\n\n" + evil},
		{"chunked", "PUT /a\nTransfer-Encoding: chunked\n\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(evil), evil)},
		{"chunked, broken", "PUT /a\nTransfer-Encoding: chunked\n\nnot hex\r\n" + evil},
		{"chunked, endless", "PUT /a\nTransfer-Encoding: chunked\n\n" + strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", len(evil), evil), 10000)},
		{"both lengths", "PUT /a\nTransfer-Encoding: chunked\nContent-Length: 3\n\n0\r\n\r\n"},
		{"a read with a body", "GET /a\n\n" + evil},
		{"a tokened read with a body", "GET /a\nX-Fencing-Token: 5\n\n" + evil},
		{"a read with much body", "GET /a\n\n" + strings.Repeat(evil, 20000)},
		{"a read, expecting", "GET /a\nExpect: 100-continue\n\n" + evil},
		{"own", "POST /.well-known/fencegate/marks\n\n" + evil},
		{"malformed", "PUT /a\nX-Fencing-Token: x\n\n" + evil},
		{"a refused path", "PUT /a//b\n\n" + evil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			conn := w.dial()
			conn.send(c.request)
			conn.endSending()
			_, _ = io.Copy(io.Discard, conn) // all answers there are
			w.ended()
			for _, r := range w.store.requests() {
				if r.target != "/a" {
					t.Errorf("the store was sent %s %s", r.method, r.target)
				}
			}
		})
	}
}

// The chunks count and the length is forgotten, here and at the store. Somebody
// before us may have gone by the length, so nothing that follows is taken for a
// request.
func TestBothLengths(t *testing.T) {
	w := open(t)
	c := w.dial()
	both := "PUT /a\nX-Fencing-Token: 5\nContent-Length: 30\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n"
	c.raw(message(both) + message("GET /b"))
	c.gets(both, closing(stored))
	got := w.store.requests()
	if len(got) != 1 || got[0].body != "abc" || got[0].header["Content-Length"] != nil {
		t.Errorf("the store was sent %+v", got)
	}
}

// A read is answered whether its body comes or not.
func TestReadDoesNotWaitForABody(t *testing.T) {
	w := open(t)
	for _, token := range []string{"", "\nX-Fencing-Token: 5"} {
		c := w.dial()
		request := "GET /a" + token + "\nContent-Length: 10"
		c.send(request)
		c.gets(request, closing(read)) // its length is not known before its end
		w.store.read = func(w http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
			w.Header().Set("Content-Length", "5")
			_, err := io.WriteString(w, "sized")
			return fence.Definite, err
		}
		c = w.dial()
		c.send(request)
		c.gets(request, want{status: 200, body: "sized"})
		c.raw("0123456789")
		c.asks("GET /a", want{status: 200, body: "sized"})
		c.Close()
		w.store.read = newFakeStore().read
	}
}
