package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

// Headers of our own answers. Answers of the store never carry them.
const (
	headerReason   = "X-Fencing-Reason"
	headerHighest  = "X-Fencing-Highest"
	headerObserved = "X-Fencing-Observed"
)

// problem is the body of our refusals, RFC 9457.
type problem struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Reason    fence.Reason `json:"reason"`
	Resource  string       `json:"resource,omitempty"`
	Token     string       `json:"token,omitempty"`
	Highest   string       `json:"highest,omitempty"`
	FenceRoot string       `json:"fence_root,omitempty"`
	RequestID string       `json:"request_id"`
}

// refuse answers with a refusal.
func (x *exchange) refuse(ref *Refusal) {
	h := x.w.Header()
	body := problem{
		Type: "urn:fencegate:problem:" + string(ref.Reason), Title: answers[ref.Reason].title,
		Status: ref.status(), Detail: ref.Detail, Reason: ref.Reason,
		Resource: ref.Resource.String(), FenceRoot: ref.FenceRoot.String(), RequestID: x.requestID(),
	}
	h.Set(headerReason, string(ref.Reason))
	if ref.Token != fence.NoToken {
		body.Token = ref.Token.String()
	}
	if ref.Highest != fence.NoToken {
		body.Highest = ref.Highest.String()
		h.Set(headerHighest, body.Highest)
	}
	if ref.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(ref.RetryAfter.Seconds()))))
	}
	if ref.Allow != nil {
		h.Set("Allow", strings.Join(ref.Allow, ", "))
	}
	if !x.r.ProtoAtLeast(1, 1) {
		h.Set("Connection", "close")
		x.stray = true
	}
	x.json(ref.status(), "application/problem+json", body)
}

// json sends an answer of our own whose body is v.
func (x *exchange) json(status int, contentType string, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // our own types marshal
	}
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", x.requestID())
	x.send(status, int64(len(text)+1), strings.NewReader(string(text)+"\n"))
}

// pass sends the store's complete answer to a write.
func (p *Proxy) pass(x *exchange, res *http.Response) {
	defer res.Body.Close()
	h := x.w.Header()
	o := optionsOf(res.Header)
	for name, lines := range res.Header {
		if !o.notForClient(name) {
			h[name] = lines
		}
	}
	delete(h, "Content-Length") // res.ContentLength counts
	if m := p.storeNames(x.r); p.renameBack(h, x.r, m) {
		var body bytes.Buffer
		hrefs := dav.NewHrefs(&body, m)
		_, _ = io.Copy(hrefs, res.Body) // both are in memory
		_ = hrefs.Close()
		x.send(res.StatusCode, int64(body.Len()), &body)
		return
	}
	x.send(res.StatusCode, res.ContentLength, res.Body)
}

const (
	// keepUnread is how much unread body a connection is kept open for: to read
	// it costs less than a new connection.
	keepUnread = 256 << 10
	// A client that is still sending when it is refused gets this long, for
	// this much, to notice the answer before the connection is reset; a reset
	// that overtakes the answer would destroy it.
	lingerTime  = 2 * time.Second
	lingerBytes = 8 << 20
)

// send writes a whole answer. A client that does not take it is dropped: what
// it keeps busy here is wanted by others.
func (x *exchange) send(status int, length int64, body io.Reader) {
	if length >= 0 && status != http.StatusNoContent && status != http.StatusNotModified {
		x.w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	}
	x.hurry()
	x.head(status)
	if x.r.Method != http.MethodHead && length != 0 {
		if _, err := io.Copy(x.w, body); err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
	}
	if x.rc.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	x.flushed = true
	x.rest()
}

// head writes the head of an answer whatever has become of the request's body:
// its client may be slow, or wait for the answer. It announces whether the
// connection ends after it.
func (x *exchange) head(status int) {
	h := x.w.Header()
	if x.observed != "" {
		h.Set(headerObserved, string(x.observed))
	}
	if x.bodyUnread() {
		_, sized := h["Content-Length"]
		if !sized {
			// Its last chunk would come only after rest: let the end of the
			// connection be its end.
			h.Set("Transfer-Encoding", "identity")
		}
		if !sized || !x.keeps() {
			h.Set("Connection", "close")
		}
	}
	x.w.WriteHeader(status)
}

// hurry gives the client a while to take what is written next, also for what the
// server still holds when the handler ends.
func (x *exchange) hurry() { _ = x.rc.SetWriteDeadline(time.Now().Add(x.patience)) }

// rest comes after an answer. It reads what is left of the request's body if
// that is little, so that the connection can be used again, and otherwise
// closes the connection.
func (x *exchange) rest() {
	if x.broken {
		panic(http.ErrAbortHandler)
	}
	if !x.flushed || x.bodyUnread() {
		x.hurry()
	}
	if !x.bodyUnread() {
		if x.stray {
			x.linger()
		}
		return
	}
	if x.rc.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	if x.w.Header().Get("Connection") != "close" && x.rc.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		if _, err := io.CopyN(io.Discard, x.r.Body, keepUnread+1); err == io.EOF {
			_ = x.rc.SetReadDeadline(time.Time{})
			return
		}
	}
	x.linger()
}

// linger closes the connection so that the client can read the answer although
// it still sends: our end first, then for a while reading on (RFC 9112 section
// 9.6).
func (x *exchange) linger() {
	conn, _, err := x.rc.Hijack()
	if err != nil && !x.bodyUnread() {
		return // the server closes it: "Connection: close" has been said
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	if c, ok := conn.(interface{ CloseWrite() error }); !ok || c.CloseWrite() != nil {
		return
	}
	if conn.SetDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, conn, lingerBytes) // whatever comes of it
	}
}
