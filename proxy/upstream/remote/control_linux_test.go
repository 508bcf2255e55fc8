package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"fencegate/fence"
)

// childTarget makes the test binary a process that writes to this URL, to be
// killed in it.
const childTarget = "REMOTE_TEST_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(childTarget); url != "" {
		handOver(url)
	}
	goleak.VerifyTestMain(m)
}

// childBody fits into the send buffer, but not into a small receive buffer.
const childBody = 150_000

// handOver tells when the kernel has taken a whole request, and waits to be
// killed.
func handOver(url string) {
	u, err := Open(url, Options{})
	if err != nil {
		panic(err)
	}
	m, err := u.message(request("PUT", "/a"), strings.NewReader(large), childBody)
	if err != nil {
		panic(err)
	}
	c, err := u.connect(context.Background(), m)
	if err != nil {
		panic(err)
	}
	if err := m.fill(true); err != nil {
		panic(err)
	}
	go c.ask(m)
	for c.socket.count() < childBody {
		time.Sleep(time.Millisecond) // nothing tells of it; the parent waits
	}
	fmt.Println("sent")
	select {}
}

// narrow makes a listener whose connections take in little at once.
func narrow(t *testing.T) net.Listener {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		ctlErr := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) })
		return errors.Join(ctlErr, err)
	}}
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// kill −9 with the whole request in the kernel's hands: it must not arrive whole
// after the process is gone.
func TestKilledSender(t *testing.T) {
	l := narrow(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe)
	child.Env = append(os.Environ(), childTarget+"=http://"+l.Addr().String())
	child.Stderr = os.Stderr
	said, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "sent\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait() // says "killed"
	n, err := io.Copy(io.Discard, c)
	if n >= childBody || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the store got %d bytes of a body of %d, then %v", n, childBody, err)
	}
}

// A store that takes nothing for half the settle time is given up by TCP,
// however long the context.
func TestUserTimeout(t *testing.T) {
	l := narrow(t)
	u := open(t, "http://"+l.Addr().String(), Options{Settle: 400 * time.Millisecond})
	start := time.Now()
	got := attempt(t, u, t.Context(), request("PUT", "/a"), strings.NewReader(large), int64(len(large)))
	if got.outcome != fence.Uncertain || !errors.Is(got.err, syscall.ETIMEDOUT) {
		t.Errorf("after %v: %v", time.Since(start), got)
	}
}

func TestSocketOptions(t *testing.T) {
	for settle, timeout := range map[time.Duration]int{0: 15000, 3 * time.Second: 1500, 3 * time.Millisecond: 1} {
		s := newStore(t, func(p *peer) { p.rest() })
		s.maybe = true
		u := open(t, s.url(), Options{Settle: settle})
		c, err := u.connect(t.Context(), new(message))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := c.socket.tcp.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			if linger, err := unix.GetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER); err != nil || linger.Onoff != 1 || linger.Linger != 0 {
				t.Errorf("linger %+v %v", linger, err)
			}
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err != nil || got != timeout {
				t.Errorf("settle %v: user timeout %d %v, want %d", settle, got, err, timeout)
			}
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || got == 0 {
				t.Errorf("no delay %d %v", got, err)
			}
			if got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil || got > 256<<10 || got < 64<<10 {
				t.Errorf("send buffer %d %v", got, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		u.drop(c)
	}
}
