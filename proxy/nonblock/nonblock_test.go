//go:build unix && !aix

package nonblock

import (
	"bytes"
	"io"
	"net"
	"syscall"
	"testing"

	"fencegate/integration/harness"
)

// pair returns both ends of a TCP connection, and runs calls on the first one's
// socket.
func pair(t *testing.T) (on func(func(fd int)), other *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); accepted.Close() })
	raw, err := ours.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	return func(f func(fd int)) {
		t.Helper()
		if err := raw.Control(func(fd uintptr) { f(int(fd)) }); err != nil {
			t.Fatal(err)
		}
	}, accepted.(*net.TCPConn)
}

func TestCallsDoNotWait(t *testing.T) {
	on, other := pair(t)
	b := make([]byte, 64<<10)
	on(func(fd int) {
		for name, call := range map[string]func(int, []byte) (int, error){"Read": Read, "Peek": Peek} {
			if n, err := call(fd, b); n != 0 || err != syscall.EAGAIN {
				t.Errorf("%s with nothing to read: %d, %v, want EAGAIN", name, n, err)
			}
			if n, err := call(fd, nil); n != 0 || err != nil {
				t.Errorf("%s into nothing: %d, %v", name, n, err)
			}
		}
	})
	if _, err := other.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	on(func(fd int) {
		harness.Eventually(t, "three bytes", func() (any, bool) { n, err := Peek(fd, b); return n, n == 3 && err == nil })
		if n, err := Read(fd, b[:2]); n != 2 || err != nil || !bytes.Equal(b[:2], []byte("ab")) {
			t.Errorf("read %q, %v", b[:n], err)
		}
		if n, err := Peek(fd, b); n != 1 || err != nil || b[0] != 'c' {
			t.Errorf("left is %q, %v", b[:n], err)
		}
		if n, err := Read(fd, b); n != 1 || err != nil || b[0] != 'c' {
			t.Errorf("read %q, %v", b[:n], err)
		}
	})
	on(func(fd int) {
		for _, c := range []struct{ first, second string }{{"ab", "cde"}, {"ab", ""}, {"abcde", "f"}} {
			whole := []byte(c.first + c.second)
			for sent := 0; sent < len(whole); {
				first, second := []byte(c.first), []byte(c.second)
				if sent > 0 {
					first, second = whole[sent:], nil
				}
				n, err := Gather(fd, first, second)
				if err != nil || n <= 0 {
					t.Fatalf("wrote %d, %v", n, err)
				}
				sent += n
			}
			got := make([]byte, len(whole))
			if _, err := io.ReadFull(other, got); err != nil || !bytes.Equal(got, whole) {
				t.Errorf("of %q and %q came %q, %v", c.first, c.second, got, err)
			}
		}
	})
	sent := 0
	on(func(fd int) {
		for { // until neither end takes more
			n, err := Write(fd, b)
			if err == syscall.EAGAIN && n == 0 {
				break
			}
			if err != nil || n <= 0 {
				t.Fatalf("wrote %d, %v", n, err)
			}
			sent += n
		}
		if n, err := Write(fd, nil); n != 0 || err != nil {
			t.Errorf("wrote nothing: %d, %v", n, err)
		}
	})
	if sent == 0 {
		t.Error("nothing could be written")
	}
}

func TestEndsOfConnections(t *testing.T) {
	on, other := pair(t)
	b := make([]byte, 10)
	if err := other.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	on(func(fd int) {
		harness.Eventually(t, "the end", func() (any, bool) { n, err := Peek(fd, b); return err, n == 0 && err == nil })
		if n, err := Read(fd, b); n != 0 || err != nil {
			t.Errorf("at the end: %d, %v", n, err)
		}
	})
	if err := other.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	other.Close()
	on(func(fd int) {
		harness.Eventually(t, "the reset", func() (any, bool) { n, err := Write(fd, b); return err, n == 0 && err != nil && err != syscall.EAGAIN })
		if n, err := Write(fd, b); n != 0 || err != syscall.EPIPE { // and no signal
			t.Errorf("writing after it: %d, %v", n, err)
		}
	})
}
