package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// client is one connection to the proxy, byte by byte.
type client struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (w *world) dial() *client {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(harness.Patience)); err != nil {
		w.t.Fatal(err)
	}
	return &client{w.t, conn, bufio.NewReader(conn)}
}

// message turns a request as tests write it into bytes: lines end in "\n", the
// body comes after an empty line, and version, Host, Content-Length and the type
// of a claim may be left out.
func message(text string) string {
	head, body, hasBody := strings.Cut(text, "\n\n")
	first, headers, _ := strings.Cut(head, "\n")
	if !strings.Contains(first, " HTTP/") {
		first += " HTTP/1.1"
	}
	lines := []string{first, "Host: fence.test"}
	if headers != "" {
		lines = append(lines, strings.Split(headers, "\n")...)
	}
	if lower := strings.ToLower(headers); hasBody && !strings.Contains(lower, "content-length:") && !strings.Contains(lower, "transfer-encoding:") {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	if strings.HasPrefix(first, "POST "+claimsPath) && !strings.Contains(strings.ToLower(headers), "content-type:") {
		lines = append(lines, "Content-Type: application/json")
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// send sends a request.
func (c *client) send(text string) {
	c.t.Helper()
	c.raw(message(text))
}

// raw sends bytes.
func (c *client) raw(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
}

// endSending closes the client's end of the connection.
func (c *client) endSending() {
	c.t.Helper()
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the next answer, without what follows it.
func (c *client) answer(method string) *answer {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer to %s: %v", method, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("the answer %d broke off: %v", res.StatusCode, err)
	}
	return &answer{t: c.t, method: method, Response: res, text: string(body)}
}

// closed checks that nothing follows and the proxy has closed.
func (c *client) closed() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.in); err != nil || len(rest) > 0 {
		c.t.Errorf("the connection was to be closed: got %q, %v", rest, err)
	}
	c.Close()
}

// cut checks that the connection ends, by whatever means, without an answer.
func (c *client) cut() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.in); len(rest) > 0 || isTimeout(err) {
		c.t.Errorf("the connection was to be cut: got %q, %v", rest, err)
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

// asks sends a request and checks the answer, and whether the connection is
// kept or closed.
func (c *client) asks(text string, want want) *answer {
	c.t.Helper()
	c.send(text)
	return c.gets(text, want)
}

// gets checks the answer to a request that was sent.
func (c *client) gets(text string, want want) *answer {
	c.t.Helper()
	method, _, _ := strings.Cut(text, " ")
	first, _, _ := strings.Cut(text, "\n\n")
	a := c.answer(method)
	a.is(first, want)
	if want.closes {
		c.closed()
	}
	return a
}

// says sends a request over the world's own connection and checks the answer;
// what does not close the connection is followed by the next on the same one.
func (w *world) says(text string, want want) *answer {
	w.t.Helper()
	if w.conn == nil {
		w.conn = w.dial()
	}
	a := w.conn.asks(text, want)
	if want.closes {
		w.conn = nil
	}
	return a
}

// saw checks what the store was sent since the last call: "METHOD target".
func (w *world) saw(want ...string) {
	w.t.Helper()
	var got []string
	w.store.mu.Lock()
	for _, r := range w.store.seen {
		got = append(got, r.method+" "+r.target)
	}
	w.store.seen = nil
	w.store.mu.Unlock()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("the store was sent %q, want %q", got, want)
	}
}
