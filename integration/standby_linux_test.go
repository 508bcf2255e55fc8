package integration

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// lockWatch tells of tries to take the ledger's lock, each of which closes it.
type lockWatch struct {
	t      testing.TB
	events *os.File
}

func watchLock(t testing.TB, s *harness.Server) *lockWatch {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { events.Close() })
	if _, err := syscall.InotifyAddWatch(fd, filepath.Join(s.State, "lock"), syscall.IN_CLOSE); err != nil {
		t.Fatal(err)
	}
	return &lockWatch{t, events}
}

// await waits for n tries that were in vain.
func (w *lockWatch) await(n int) {
	w.t.Helper()
	if err := w.events.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		w.t.Fatal(err)
	}
	for range n {
		if _, err := w.events.Read(make([]byte, 4096)); err != nil {
			w.t.Fatalf("the standby does not try the lock, or has it: %v", err)
		}
	}
}

// startStandby starts a second fencegate over what s holds, and waits until it
// has tried the lock in vain at least once.
func startStandby(t testing.TB, s *harness.Server) *harness.Process {
	t.Helper()
	w := watchLock(t, s)
	p := &place{t: t, state: s.State, data: s.Data, args: []string{"--wait", "1m"}}
	standby := harness.Start(t, "standby", p.command())
	w.await(1)
	return standby
}

// One stands by for another and takes over with all its marks when that is
// killed. Shown: S5 durable and S6, never two at once.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	holder := stampOf(7, "holder")
	says(t, s, "201", "PUT", report, holder, "seven")
	standby := startStandby(t, s)
	if said := standby.Stderr(); len(said) != 0 {
		t.Fatalf("it does not stand by: %q", said)
	}
	says(t, s, "204", "PUT", report, stampOf(8, "next"), "eight")
	s.Kill()
	var url string
	harness.Eventually(t, "the standby to serve", func() (any, bool) {
		said := strings.Join(standby.Stderr(), "\n")
		_, after, ok := strings.Cut(said, `"data":"`)
		addr, _, _ := strings.Cut(after, `"`)
		url = "http://" + addr
		return said, ok
	})
	for _, c := range []struct {
		stamp fence.Stamp
		want  string
	}{{holder, "412 stale_token"}, {stampOf(8, "next"), "204"}} {
		a, err := send(fresh, "PUT", url+report, c.stamp, strings.NewReader("more"))
		if err != nil || a.String() != c.want {
			t.Errorf("token %s is answered %v, %v, want %s", c.stamp.Token, a, err, c.want)
		}
	}
}

// The first one stops in order, with a read in progress that holds it up and
// deleted objects still to be removed. Shown: who stands by is let in last, when
// the storage is free, and the stop was clean.
func TestStandbyTakesOverAfterAStop(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--settle", "5s", "--max-wait", "20s")
	holder := stampOf(7, "holder")
	says(t, s, "201", "PUT", report, holder, strings.Repeat("x", 16<<20)) // more than sockets take
	for i := range 200 {
		says(t, s, "201", "PUT", fmt.Sprintf("/old/%d", i), holder, "old")
	}
	res, err := http.Get(s.URL() + report)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	standby := startStandby(t, s)
	says(t, s, "204", "DELETE", "/old/", holder, "")
	s.Process().Signal(syscall.SIGTERM)
	harness.Eventually(t, "/readyz to tell that it stops", func() (any, bool) {
		said := readiness(s)
		return said, strings.HasPrefix(said, "503 draining")
	})
	watchLock(t, s).await(10) // while the read is in progress
	if n, err := io.Copy(io.Discard, res.Body); n != 16<<20 || err != nil {
		t.Errorf("the read got %d bytes, %v", n, err)
	}
	if code := s.Process().Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	harness.Eventually(t, "the standby to serve", func() (any, bool) {
		select {
		case <-standby.Exited():
			t.Fatalf("it ended: %q", standby.Stderr())
		default:
		}
		said := strings.Join(standby.Stderr(), "\n")
		return said, strings.Contains(said, `"serving"`)
	})
}

// One that stands by ends when it is told to.
func TestStandbyEndsOnTERM(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	standby := startStandby(t, s)
	standby.Signal(syscall.SIGTERM)
	if code := standby.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if said := standby.Stderr(); len(said) != 0 {
		t.Errorf("it complains: %q", said)
	}
	says(t, s, "201", "PUT", report, stampOf(7, "holder"), "seven")
}
