package integration

import (
	"errors"
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

// slowly answers a PUT only after its body was read, which it does not do
// before go is closed; it tells arrived, and what it read.
func slowly(arrived chan<- string, go_ <-chan struct{}, bodies chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.RequestURI
		<-go_
		text, err := io.ReadAll(r.Body)
		if err != nil {
			text = []byte("cut")
		}
		bodies <- string(text)
		w.WriteHeader(http.StatusCreated)
	}
}

// large is more than the kernel takes in for a server that does not read.
const large = 32 << 20

// A file that changes under way is not stored for what it was: a shorter one is
// never a whole request, a longer one is stored as it was at first and told.
func TestPutOfAFileThatChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(name string) error
		code   int
		says   string
		length int // stored; -1: nothing
	}{
		{"shrinks", func(name string) error { return os.Truncate(name, large/2) }, 66, "became shorter", -1},
		{"grows", func(name string) error {
			f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("more")
				err = errors.Join(err, f.Close())
			}
			return err
		}, 66, "changed while it was sent", large},
		{"vanishes", os.Remove, 0, "", large},
		{"is replaced", func(name string) error {
			return errors.Join(os.WriteFile(name+".new", []byte("other"), 0o600), os.Rename(name+".new", name))
		}, 0, "", large},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			arrived, go_, bodies := make(chan string, 1), make(chan struct{}), make(chan string, 1)
			f := newFakeFence(t, slowly(arrived, go_, bodies))
			name := file(t, t.TempDir()+"/f", strings.Repeat("x", large))
			p := harness.Start(t, "put", putCommand(t, f.URL, stampOf(7, "me"), name, report))
			<-arrived
			if err := c.change(name); err != nil {
				t.Fatal(err)
			}
			close(go_)
			wantCode(t, p, c.code)
			if c.code != 0 {
				saysOneLine(t, p, c.says)
			}
			if body := <-bodies; c.length < 0 && body != "cut" || c.length >= 0 && len(body) != c.length {
				t.Errorf("the fence got %d bytes", len(body))
			}
		})
	}
}

// Told to end while it sends, nothing is in doubt until all was sent: then it
// is.
func TestPutThatIsToldToEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		size   int
		signal syscall.Signal
		code   int
		says   string
	}{
		{"INT in the middle", large, syscall.SIGINT, 130, "nothing of it took effect"},
		{"TERM in the middle", large, syscall.SIGTERM, 143, "nothing of it took effect"},
		{"INT when all was sent", 10, syscall.SIGINT, 74, "told to end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			arrived, go_, bodies := make(chan string, 1), make(chan struct{}), make(chan string, 1)
			handle := slowly(arrived, go_, bodies)
			if c.size < large { // read it all, then be silent
				handle = func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					arrived <- r.RequestURI
					<-go_
				}
			}
			f := newFakeFence(t, handle)
			t.Cleanup(func() { close(go_) })
			name := file(t, t.TempDir()+"/f", strings.Repeat("x", c.size))
			p := harness.Start(t, "put", putCommand(t, f.URL, stampOf(7, "me"), name, report))
			<-arrived
			p.Signal(c.signal)
			wantCode(t, p, c.code)
			saysOneLine(t, p, c.says)
		})
	}
	// Neither a silent pipe nor one that nobody writes holds it up.
	f := newFakeFence(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := putCommand(t, f.URL, stampOf(7, "me"), "-", report)
	cmd.Stdin = r
	p := harness.Start(t, "put", cmd)
	harness.Eventually(t, "the request to begin", func() (any, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.seen), len(f.seen) == 1
	})
	p.Signal(syscall.SIGINT)
	wantCode(t, p, 130)
	pipe := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p = harness.Start(t, "put", putCommand(t, f.URL, stampOf(7, "me"), pipe, report))
	awaitOpen(t, p)
	p.Signal(syscall.SIGINT)
	wantCode(t, p, 130)
}

// awaitOpen waits until a thread of a process hangs in openat: only a pipe keeps
// it there.
func awaitOpen(t testing.TB, p *harness.Process) {
	t.Helper()
	harness.Eventually(t, "it to open the pipe", func() (any, bool) {
		calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", p.PID()))
		for _, call := range calls {
			text, _ := os.ReadFile(call)
			if strings.HasPrefix(string(text), fmt.Sprint(syscall.SYS_OPENAT, " ")) {
				return string(text), true
			}
		}
		return len(calls), false
	})
}

// Its own lock is lost while it sends: what was not sent whole is cut and never
// takes effect; for what was, the fence is heard.
func TestPutWhoseLockIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		size int
		code int
		says string
	}{
		{"in the middle", large, 76, "nothing of it took effect"},
		{"when all was sent", 10, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redis := harness.Redis(t, savesNow...)
			arrived, go_, bodies := make(chan string, 1), make(chan struct{}), make(chan string, 1)
			handle := slowly(arrived, go_, bodies)
			if c.size < large {
				handle = func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					arrived <- r.RequestURI
					<-go_
					w.WriteHeader(http.StatusCreated)
				}
			}
			f := newFakeFence(t, handle)
			name := file(t, t.TempDir()+"/f", strings.Repeat("x", c.size))
			p := harness.Start(t, "put", putCommand(t, f.URL, fence.Stamp{}, "--redis", redis.Addr(), "--ttl", "600ms", name, report))
			<-arrived
			redis.FlushAll()
			if c.size < large {
				time.Sleep(700 * time.Millisecond) // a TTL: no event tells that it does nothing
				close(go_)
			}
			wantCode(t, p, c.code)
			if c.code != 0 {
				saysOneLine(t, p, c.says)
				close(go_)
				if body := <-bodies; body != "cut" {
					t.Errorf("the fence got %d bytes", len(body))
				}
			}
		})
	}
}
