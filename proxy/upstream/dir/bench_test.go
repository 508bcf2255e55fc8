package dir

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// One PUT after the other: the latency of two fsyncs.
func BenchmarkPut1KiB(b *testing.B) {
	s, body := openDir(b), strings.Repeat("x", 1<<10)
	for b.Loop() {
		s.do(b, request("PUT", "/d/object", body))
	}
}

// PUTs of different objects side by side.
func BenchmarkPut1KiBParallel(b *testing.B) {
	s, body := openDir(b), strings.Repeat("x", 1<<10)
	var n atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		path := fmt.Sprint("/d/object", n.Add(1))
		for pb.Next() {
			s.do(b, request("PUT", path, body))
		}
	})
}

func BenchmarkGet1KiB(b *testing.B) {
	s := openDir(b)
	s.do(b, request("PUT", "/d/object", strings.Repeat("x", 1<<10)))
	r := request("GET", "/d/object", "")
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		if _, err := s.Read(w, r); err != nil || w.Code != 200 {
			b.Fatal(w.Code, err)
		}
	}
}
