package proxy

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

// holed makes a file of that size without content on disk.
func holed(t *testing.T, size int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "holed")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// fromFile answers reads with a file, as stores in directories do.
func fromFile(name string) func(http.ResponseWriter, *http.Request) (fence.Outcome, error) {
	return func(w http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
		f, err := os.Open(name)
		if err != nil {
			return fence.NotSent, err
		}
		defer f.Close()
		http.ServeContent(w, r, "", time.Time{}, f)
		return fence.Definite, nil
	}
}

// A client that does not take the answer to its read is dropped, however the
// store writes it.
func TestReadThatIsNotTaken(t *testing.T) {
	zeros := make([]byte, 1<<20)
	for name, read := range map[string]func(http.ResponseWriter, *http.Request) (fence.Outcome, error){
		"a file": fromFile(holed(t, 1<<30)),
		"a copy": func(w http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
			w.Header().Set("Content-Length", "1073741824")
			_, err := io.Copy(w, io.LimitReader(endless{}, 1<<30))
			return fence.Definite, err
		},
		"pieces": func(w http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
			for {
				if _, err := w.Write(zeros); err != nil {
					return fence.Definite, nil // a store that has no use for the error
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					return fence.Definite, err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, limits(BodyLimits{Idle: 300 * time.Millisecond, MinRate: 64 << 10}))
			w.store.read = read
			c := w.dial()
			c.send("GET /a")
			if _, err := c.in.Peek(1); err != nil {
				t.Fatal(err)
			}
			w.ended()
			if _, err := io.Copy(io.Discard, c.in); isTimeout(err) {
				t.Error("the connection was kept")
			}
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A client that is slow, but not too slow, gets everything.
func TestSlowReaderIsServed(t *testing.T) {
	t.Parallel()
	w := open(t, limits(BodyLimits{Idle: 500 * time.Millisecond, MinRate: 64 << 10}))
	const size = 64 << 20
	w.store.read = fromFile(holed(t, size))
	c := w.dial()
	// A kernel opens a window that was full only when a sixteenth of its buffer is
	// free, and lets that grow with the speed at which it was filled: to more than
	// this client takes in the time that it has.
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(512 << 10); err != nil {
		t.Fatal(err)
	}
	c.send("GET /a")
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for range 30 {
		time.Sleep(100 * time.Millisecond) // the slow client that this is about
		if _, err := io.CopyN(io.Discard, res.Body, 100<<10); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := io.Copy(io.Discard, res.Body); err != nil || n != size-30*100<<10 {
		t.Errorf("the rest has %d bytes, %v", n, err)
	}
}

// The time that the store takes is not the client's, and neither is that
// between two requests.
func TestSlowStoreIsNotASlowReader(t *testing.T) {
	t.Parallel()
	const idle = 300 * time.Millisecond
	w := open(t, limits(BodyLimits{Idle: idle, MinRate: 64 << 10}))
	part := strings.Repeat("x", 10_000)
	w.store.read = func(w http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
		for range 3 {
			if _, err := io.WriteString(w, part); err != nil {
				return fence.Definite, err
			}
			time.Sleep(3 * idle)
			if err := http.NewResponseController(w).Flush(); err != nil {
				return fence.Definite, err
			}
		}
		return fence.Definite, nil
	}
	all := want{status: 200, body: strings.Repeat(part, 3)}
	w.says("GET /a", all)
	time.Sleep(3 * idle)
	w.says("GET /a", all)
}
