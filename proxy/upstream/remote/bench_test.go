//go:build unix

package remote

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
)

// sink answers PUTs as fast as it can.
func sink(b *testing.B) string {
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
	for {
		size := 0
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) == 2 {
				break
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
		if _, err := io.WriteString(c, "HTTP/1.1 201 Created\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n"); err != nil {
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
			body := large[:size]
			name := fmt.Sprintf("%s/%dK/", store.name, size>>10)
			for kind, opts := range map[string]Options{"kept": {Idle: time.Minute}, "once": {}} {
				b.Run(name+kind, func(b *testing.B) {
					u, err := Open(store.url, opts)
					if err != nil {
						b.Fatal(err)
					}
					defer u.Close()
					r := request("PUT", "/a", "Content-Type: text/plain", "User-Agent: x", "X-Request-Id: 1")
					measure(b, size, func() {
						res, outcome, err := u.Write(b.Context(), r, strings.NewReader(body), int64(size))
						if err != nil || outcome != fence.Definite {
							b.Fatal(outcome, err)
						}
						res.Body.Close()
					})
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
