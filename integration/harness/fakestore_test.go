package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leaksNothing checks in the end of a test, after all its clean-up, that no
// goroutine is left.
func leaksNothing(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// talk is one connection, byte by byte.
type talk struct {
	t *testing.T
	*net.TCPConn
	in    *bufio.Reader
	store *FakeStore // for tests that look at it midway
}

func talkTo(t *testing.T, addr string) *talk {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	return &talk{t: t, TCPConn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
}

func (c *talk) put(path, body string) {
	c.t.Helper()
	c.send(fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: store\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body))
}

func (c *talk) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// says compares the next answer: its status, and its body if there is one.
func (c *talk) says(want string) {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatalf("no answer: %v, want %s", err, want)
	}
	text, err := io.ReadAll(res.Body)
	if got := strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", string(text))); err != nil || got != want {
		c.t.Fatalf("the answer is %q, %v, want %q", got, err, want)
	}
}

// ends expects the end of the connection: io.EOF or a reset.
func (c *talk) ends(want error) {
	c.t.Helper()
	if b, err := c.in.ReadByte(); !errors.Is(err, want) {
		c.t.Fatalf("the connection gives %q, %v, want %v", b, err, want)
	}
}

// happened compares the effects so far, each "PUT /path id".
func happened(t *testing.T, s *FakeStore, want ...string) {
	t.Helper()
	var got []string
	var last Effect
	for _, e := range s.Effects() {
		got = append(got, e.Method+" "+e.Path+" "+e.ID)
		if e.Seq != last.Seq+1 || e.At < last.At || e.At > Monotonic() {
			t.Errorf("effect %+v after %+v", e, last)
		}
		last = e
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("happened: %q, want %q", got, want)
	}
}

func TestFakeStoreStores(t *testing.T) {
	leaksNothing(t)
	s := NewFakeStore(t)
	c := talkTo(t, s.Addr())
	c.put("/a", "one")
	c.says("201")
	c.put("/a", "two")
	c.says("204")
	c.put("/a/b?write_id=w7", "three")
	c.says("201")
	c.send("GET /a HTTP/1.1\r\nHost: store\r\n\r\n")
	c.says("200 two")
	c.send("PUT /c HTTP/1.1\r\nHost: store\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nsix\r\n0\r\n\r\n")
	c.says("201")
	c.send("DELETE /a HTTP/1.1\r\nHost: store\r\nX-Write-Id: w8\r\n\r\n")
	c.says("204")
	c.send("GET /a/b HTTP/1.1\r\nHost: store\r\n\r\n")
	c.says("404")
	c.send("DELETE /a HTTP/1.1\r\nHost: store\r\nX-Write-Id: w9\r\nConnection: close\r\n\r\n")
	c.says("404")
	c.ends(io.EOF)
	happened(t, s, "PUT /a one", "PUT /a two", "PUT /a/b w7", "PUT /c six", "DELETE /a w8", "DELETE /a w9")
	if got := s.Objects(); len(got) != 1 || got["/c"] != "six" {
		t.Errorf("it holds %q", got)
	}
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	if n := s.Received("/a"); n != 6 {
		t.Errorf("%d bytes for /a", n)
	}
}

func TestFakeStoreTakesNothingInPart(t *testing.T) {
	leaksNothing(t)
	s := NewFakeStore(t)
	c := talkTo(t, s.Addr())
	c.send("PUT /a HTTP/1.1\r\nHost: store\r\nContent-Length: 5\r\n\r\nfour")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.ends(io.EOF)
	s.Queue("PUT", "/a", Plan{CutBody: 3})
	c = talkTo(t, s.Addr())
	c.put("/a", "five!")
	c.ends(syscall.ECONNRESET)
	happened(t, s)
	if n := s.Received("/a"); n != 7 {
		t.Errorf("%d bytes came, want 4 and 3", n)
	}
}

// Each plan for a PUT of "new", and what comes of it.
func TestFakeStorePlans(t *testing.T) {
	leaksNothing(t)
	event := make(chan struct{})
	close(event)
	for name, c := range map[string]struct {
		plan Plan
		then func(*talk)
		none bool // no effect
	}{
		"ordinary":      {plan: Plan{}, then: func(c *talk) { c.says("201"); c.put("/b", "next"); c.says("201") }},
		"delayed":       {plan: Plan{Delay: time.Millisecond, WaitBody: event, Wait: event, WaitAnswer: event}, then: func(c *talk) { c.says("201") }},
		"early":         {plan: Plan{Early: true}, then: func(c *talk) { c.says("413") }, none: true},
		"early, closed": {plan: Plan{Early: true, Status: 401, Close: true}, then: func(c *talk) { c.says("401") }, none: true},
		"after its end": {plan: Plan{Drop: FIN, Delay: time.Millisecond}, then: func(c *talk) { c.ends(io.EOF) }},
		"after a reset": {plan: Plan{Drop: Reset}, then: func(c *talk) { c.ends(syscall.ECONNRESET) }},
		"after ours":    {plan: Plan{UntilGone: true}, then: func(c *talk) { happened(c.t, c.store); c.Close() }},
		"lost":          {plan: Plan{Lose: true}, then: func(c *talk) { c.ends(io.EOF) }},
		"never":         {plan: Plan{Never: true}, then: func(c *talk) { c.CloseWrite(); c.ends(io.EOF) }},
		"a lie":         {plan: Plan{NoEffect: true}, then: func(c *talk) { c.says("201") }, none: true},
		"refused":       {plan: Plan{Status: 503, NoEffect: true, Body: "busy"}, then: func(c *talk) { c.says("503 busy") }, none: true},
		"done anyhow":   {plan: Plan{Status: 500}, then: func(c *talk) { c.says("500") }},
		"slow":          {plan: Plan{Pace: time.Microsecond, Status: 200, Body: "slow"}, then: func(c *talk) { c.says("200 slow") }},
		"informational": {plan: Plan{First: []string{"103 Early Hints"}}, then: func(c *talk) { c.says("103"); c.says("201") }},
		"broken off":    {plan: Plan{CutAnswer: 1}, then: func(c *talk) { c.in.ReadByte(); c.ends(syscall.ECONNRESET) }},
		"closed": {plan: Plan{Close: true, Header: http.Header{"X-A": {"b"}}}, then: func(c *talk) {
			c.says("201")
			c.ends(io.EOF)
		}},
		"too short": {plan: Plan{Status: 200, Body: "short", Length: 9}, then: func(c *talk) {
			if b, err := io.ReadAll(c.in); !strings.Contains(string(b), "Length: 9\r\n") || err != nil {
				c.t.Errorf("got %q, %v", b, err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewFakeStore(t)
			s.Plan(func(r Request) Plan {
				if r.Path == "/a" && r.Method == http.MethodPut {
					return c.plan
				}
				return Plan{}
			})
			conn := talkTo(t, s.Addr())
			conn.store = s
			conn.put("/a", "new")
			c.then(conn)
			if c.none {
				s.close() // everything has happened then
				happened(t, s)
				return
			}
			e := s.AwaitEffect("the PUT", func(e Effect) bool { return e.Path == "/a" })
			if e.ID != "new" || s.Objects()["/a"] != "new" {
				t.Errorf("the effect is %+v", e)
			}
			r := s.AwaitRequest("the PUT whole", func(r Request) bool { return r.N == e.Request && r.Whole > 0 })
			if r.Received != 3 || r.At > r.Whole || r.Whole > e.At {
				t.Errorf("the request is %+v, its effect %+v", r, e)
			}
		})
	}
}
