//go:build !race

// With the race detector sync.Pool drops some on purpose.

package front

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

const small = "PUT /a/b.txt HTTP/1.1\r\nHost: fence.test\r\nUser-Agent: x\r\nX-Fencing-Token: 33\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n"

// puts returns one keep-alive PUT of 1 KiB and its answer, as a client does it
// that makes no garbage.
func puts(t testing.TB, serve func(net.Listener) error, end func() error) func() {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		end()
		<-ended
	})
	request, answer := append([]byte(small), make([]byte, 1024)...), make([]byte, 4096)
	return func() {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(answer); err != nil || string(answer[:12]) != "HTTP/1.1 204" {
			t.Fatalf("answered %q, %v", answer[:n], err)
		}
	}
}

func putsHere(t testing.TB) func() {
	s := &Server{Handler: http.HandlerFunc(takeBody), HeadTimeout: time.Minute, IdleTimeout: time.Minute, MaxHead: 64 << 10, Log: slog.New(slog.DiscardHandler)}
	return puts(t, s.Serve, s.Close)
}

// takeBody is a handler that makes no garbage.
func takeBody(w http.ResponseWriter, r *http.Request) {
	b := outputs.Get().(*[]byte)
	defer outputs.Put(b)
	for {
		if _, err := r.Body.Read(*b); err == io.EOF {
			break
		} else if err != nil {
			panic(err)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// TestAllocations: one for the text of the head, of which the strings of the
// request are, and one for the date, once a second.
func TestAllocations(t *testing.T) {
	exchange := putsHere(t)
	exchange()
	if n := testing.AllocsPerRun(2000, exchange); n > 1 {
		t.Errorf("%v allocations for a request, want 1", n)
	}
}

func BenchmarkPut(b *testing.B) {
	exchange := putsHere(b)
	b.ReportAllocs()
	for b.Loop() {
		exchange()
	}
}

// BenchmarkPutByNetHTTP is the same with net/http's server.
func BenchmarkPutByNetHTTP(b *testing.B) {
	s := &http.Server{Handler: http.HandlerFunc(takeBody)}
	exchange := puts(b, s.Serve, s.Close)
	b.ReportAllocs()
	for b.Loop() {
		exchange()
	}
}
