package dir

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// One PUT after the other: the latency of two fsyncs.
func BenchmarkPut1KiB(b *testing.B) {
	s, body := openDir(b), strings.Repeat("x", 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		s.do(b, request("PUT", "/d/object", body))
	}
}

// PUTs of different objects side by side.
func BenchmarkPut1KiBParallel(b *testing.B) {
	s, body := openDir(b), strings.Repeat("x", 1<<10)
	var n atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		path := fmt.Sprint("/d/object", n.Add(1))
		for pb.Next() {
			s.do(b, request("PUT", path, body))
		}
	})
}

// sink is a ResponseWriter that costs nothing.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return len(b), nil
}

func (s *sink) reset() {
	clear(s.header)
	s.status, s.bytes = 0, 0
}

func BenchmarkGet1KiB(b *testing.B) {
	s := openDAV(b)
	s.do(b, request("MKCOL", "/d", ""))
	s.do(b, request("PUT", "/d/object", strings.Repeat("x", 1<<10)))
	r, w := request("GET", "/d/object", ""), &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		w.reset()
		if _, err := s.Read(w, r); err != nil || w.status != 200 || w.bytes != 1<<10 {
			b.Fatal(w, err)
		}
	}
}

// A directory of 1000 files, asked as clients do that show it.
func BenchmarkPropfind(b *testing.B) {
	s := openDAV(b)
	s.do(b, request("MKCOL", "/d", ""))
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(s.root, "d", fmt.Sprint("object", i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	const ask = `<D:propfind xmlns:D="DAV:"><D:prop><D:getetag/><D:getcontentlength/><D:getlastmodified/><D:resourcetype/></D:prop></D:propfind>`
	w := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		w.reset()
		if _, err := s.Read(w, request("PROPFIND", "/d/", ask, "Depth: 1")); err != nil || w.status != 207 || w.bytes < 100_000 {
			b.Fatal(w.status, w.bytes, err)
		}
	}
}
