//go:build unix

package remote

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
)

// sink answers as fast as it can: GETs with 1 KiB.
func sink(b testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go drain(c)
		}
	}()
	return "http://" + l.Addr().String()
}

func drain(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 64<<10)
	stored := []byte("HTTP/1.1 201 Created\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n")
	read := []byte("HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 1024\r\n\r\n" + large[:1024])
	for {
		size, answer := 0, stored
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) == 2 {
				break
			}
			if bytes.HasPrefix(line, []byte("GET ")) {
				answer = read
			}
			if name := []byte("Content-Length: "); bytes.HasPrefix(line, name) {
				for _, digit := range line[len(name) : len(line)-2] {
					size = 10*size + int(digit-'0')
				}
			}
		}
		if _, err := in.Discard(size); err != nil {
			return
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// BenchmarkWrite compares Write with net/http's client, on stores of two kinds.
func BenchmarkWrite(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	for _, store := range []struct{ name, url string }{{"sink", sink(b)}, {"nethttp", server.URL}} {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
			body, bytesOf := large[:size], []byte(large[:size])
			name := fmt.Sprintf("%s/%dK/", store.name, size>>10)
			for kind, opts := range map[string]Options{"kept": {Idle: time.Minute}, "once": {}} {
				b.Run(name+kind, func(b *testing.B) {
					u, err := Open(store.url, opts)
					if err != nil {
						b.Fatal(err)
					}
					defer u.Close()
					measure(b, size, func() { put(b, u, bytes.NewBuffer(bytesOf), size) })
				})
			}
			b.Run(name+"Transport", func(b *testing.B) {
				transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: maxIdle}
				defer transport.CloseIdleConnections()
				measure(b, size, func() {
					r, err := http.NewRequestWithContext(b.Context(), "PUT", store.url+"/a", strings.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					r.Header["Content-Type"], r.Header["User-Agent"], r.Header["X-Request-Id"] = []string{"text/plain"}, []string{"x"}, []string{"1"}
					res, err := transport.RoundTrip(r)
					if err != nil {
						b.Fatal(err)
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				})
			})
		}
	}
}

var written = request("PUT", "/a", "Content-Type: text/plain", "User-Agent: x", "X-Request-Id: 1")

// put writes as the proxy does.
func put(t testing.TB, u *Remote, body io.Reader, size int) {
	ctx := &byDeadline{context.Background(), time.Now().Add(time.Minute)}
	res, outcome, err := u.Write(ctx, written, body, int64(size))
	if err != nil || outcome != fence.Definite {
		t.Fatal(outcome, err)
	}
	res.Body.Close()
}

// byDeadline is a context that ends by that alone.
type byDeadline struct {
	context.Context
	end time.Time
}

func (d *byDeadline) EndsByDeadline() {}

func (d *byDeadline) Deadline() (time.Time, bool) { return d.end, true }

func (d *byDeadline) Err() error {
	if time.Now().Before(d.end) {
		return nil
	}
	return context.DeadlineExceeded
}

// BenchmarkFile writes 8 MiB that lie in a file.
func BenchmarkFile(b *testing.B) {
	file := fileOf(b, large[:8<<20])
	u, err := Open(sink(b), Options{Idle: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer u.Close()
	for name, body := range map[string]func() io.Reader{
		"sent":   func() io.Reader { return io.NewSectionReader(file, 0, 8<<20) },
		"copied": func() io.Reader { return struct{ io.Reader }{io.NewSectionReader(file, 0, 8<<20)} },
	} {
		b.Run(name, func(b *testing.B) { measure(b, 8<<20, func() { put(b, u, body(), 8<<20) }) })
	}
}

// fileOf returns an open file with this content, and no name.
func fileOf(t testing.TB, content string) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "body")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return file
}

// BenchmarkRead reads 1 KiB. The client's context can end.
func BenchmarkRead(b *testing.B) {
	u, err := Open(sink(b), Options{Idle: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer u.Close()
	r := request("GET", "/a", "User-Agent: x").WithContext(b.Context())
	r.Body = http.NoBody
	measure(b, 1<<10, func() {
		w := &discarder{header: http.Header{}}
		if outcome, err := u.Read(w, r); err != nil || outcome != fence.Definite || w.n != 1<<10 {
			b.Fatal(outcome, err, w.n)
		}
	})
}

// discarder is a ResponseWriter that counts.
type discarder struct {
	header http.Header
	n      int
}

func (d *discarder) Header() http.Header { return d.header }
func (d *discarder) WriteHeader(int)     {}
func (d *discarder) Write(b []byte) (int, error) {
	d.n += len(b)
	return len(b), nil
}
func (d *discarder) FlushError() error { return nil }

func measure(b *testing.B, size int, write func()) {
	b.ReportAllocs()
	b.SetBytes(int64(size))
	before := used(b)
	for b.Loop() {
		write()
	}
	b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op")
}

// used is the processor time of this process, the store in it included.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
