package harness

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// echoServer is a server that sends back what it gets, and ends when the client does.
func echoServer(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return l.Addr().String()
}

func (c *talk) gets(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.in, got); err != nil || string(got) != want {
		c.t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// silent checks that nothing comes for a moment: it can miss a fault, never
// find one that is none.
func (c *talk) silent() {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if b, err := c.in.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("got %q, %v, want silence", b, err)
	}
	c.SetReadDeadline(time.Now().Add(Patience))
}

func newLine(t *testing.T) (*Line, *talk) {
	t.Helper()
	leaksNothing(t)
	l := NewLine(t, echoServer(t))
	c := talkTo(t, l.Addr())
	c.send("hello")
	c.gets("hello")
	return l, c
}

func TestLineCarries(t *testing.T) {
	l, c := newLine(t)
	large := strings.Repeat("0123456789", 100_000)
	go func() { _, _ = io.WriteString(c, large); c.CloseWrite() }()
	if got, err := io.ReadAll(c.in); err != nil || string(got) != large {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	Eventually(t, "the connection to be over", func() (any, bool) { return l.Connections(), l.Connections() == 0 })
	c = talkTo(t, l.Addr())
	c.send("x")
	c.gets("x")
	c.SetLinger(0)
	c.Close()
	Eventually(t, "a reset to pass", func() (any, bool) { return l.Connections(), l.Connections() == 0 })
}

func TestLineCutsAndRefuses(t *testing.T) {
	l, c := newLine(t)
	l.Cut()
	c.ends(syscall.ECONNRESET)
	c = talkTo(t, l.Addr())
	c.send("again")
	c.gets("again")
	l.Refuse()
	c.ends(syscall.ECONNRESET)
	if conn, err := net.Dial("tcp", l.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("refusing, it gives %v, %v", conn, err)
	}
	l.Accept()
	c = talkTo(t, l.Addr())
	c.send("back")
	c.gets("back")
}

func TestLineStalls(t *testing.T) {
	for name, d := range map[string]Direction{"up": Up, "down": Down, "both": Both} {
		t.Run(name, func(t *testing.T) {
			l, c := newLine(t)
			l.Stall(d)
			c.send("later")
			c.silent()
			l.Resume(d)
			c.gets("later")
		})
	}
}

func TestLineHalfCloses(t *testing.T) {
	l, c := newLine(t)
	l.HalfClose(Up) // which the echo answers with its own end
	c.ends(io.EOF)
	c = talkTo(t, l.Addr())
	c.send("x")
	c.gets("x")
	l.HalfClose(Down)
	c.ends(io.EOF)
	c.send("vanishes")
}

func TestLineIsABlackHole(t *testing.T) {
	l, c := newLine(t)
	l.BlackHole()
	c.send("lost")
	c.silent()
	newcomer := talkTo(t, l.Addr())
	newcomer.send("lost too")
	newcomer.silent()
	l.Mend()
	c.ends(syscall.ECONNRESET)
	newcomer.ends(syscall.ECONNRESET)
	c = talkTo(t, l.Addr())
	c.send("back")
	c.gets("back")
	l.BlackHole() // who is in it at the end leaves no goroutine
	c.send("lost")
}

func TestLineCutsAfterBytes(t *testing.T) {
	l, _ := newLine(t)
	l.CutAfter(Down, 3)
	c := talkTo(t, l.Addr())
	c.send("hello")
	got, err := io.ReadAll(c.in)
	if !bytes.Equal(got, []byte("hel")[:len(got)]) || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %q, %v; want no more than hel, and a reset", got, err)
	}
	l.CutAfter(Down, -1)
	c = talkTo(t, l.Addr())
	c.send("hello")
	c.gets("hello")
}

// Nothing is measured but that it takes at least as long as it must.
func TestLineIsSlow(t *testing.T) {
	l, c := newLine(t)
	for name, slow := range map[string]func(){
		"a rate":  func() { l.Delay(Both, 0); l.Rate(Up, 100_000) },
		"a delay": func() { l.Rate(Both, 0); l.Delay(Down, 80*time.Millisecond) },
	} {
		slow()
		began := time.Now()
		text := strings.Repeat("x", 10_000)
		c.send(text)
		c.gets(text)
		if took := time.Since(began); took < 70*time.Millisecond {
			t.Errorf("with %s it took %v only", name, took)
		}
	}
}
