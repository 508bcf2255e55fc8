package dir

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// meter counts responses and looks at the heap now and then.
type meter struct {
	header    http.Header
	responses int
	bytes     int64
	peak      uint64
	next      int64
}

func (m *meter) Header() http.Header { return m.header }
func (m *meter) WriteHeader(int)     {}

func (m *meter) Write(b []byte) (int, error) {
	m.responses += bytes.Count(b, []byte("<D:response>"))
	if m.bytes += int64(len(b)); m.bytes >= m.next {
		m.next += 1 << 20
		m.peak = max(m.peak, heap())
	}
	return len(b), nil
}

// heap returns the bytes that the heap has in use, garbage included.
func heap() uint64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapInuse + now.StackInuse
}

// A directory is listed as it is read: its size does not matter to the memory.
func TestManyFiles(t *testing.T) {
	const files, atMost = 100_000, 16 << 20
	needRoot(t)
	root := t.TempDir() // in memory: many files take a disk long
	mount(t, "tmpfs", root, "tmpfs", 0, "size=64m,nr_inodes=110000")
	s := openWith(t, root, Options{WebDAV: true})
	if err := os.Mkdir(filepath.Join(s.root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		fd, err := os.Create(filepath.Join(s.root, "d", fmt.Sprintf("object-%06d.dat", i)))
		if err != nil {
			t.Fatal(err)
		}
		fd.Close()
	}
	for _, c := range []struct {
		request   *http.Request
		responses int
	}{
		{request("PROPFIND", "/d", "", depth1...), files + 1},
		{request("PROPFIND", "/d", `<propfind xmlns="DAV:"><prop><getetag/><x xmlns="urn:t"/></prop></propfind>`, depth1...), files + 1},
		{request("GET", "/d/", ""), 0},
	} {
		runtime.GC()
		before, begun := heap(), time.Now()
		m := &meter{header: http.Header{}}
		if _, err := s.Read(m, c.request); err != nil {
			t.Fatal(err)
		}
		if m.responses != c.responses {
			t.Errorf("%d responses, want %d", m.responses, c.responses)
		}
		used := int64(max(m.peak, heap())) - int64(before)
		t.Logf("%s: an answer of %d KiB took %d KiB of memory and %v", c.request.Method, m.bytes>>10, used>>10, time.Since(begun))
		if used > atMost {
			t.Errorf("%s: it took %d bytes of memory, want at most %d", c.request.Method, used, atMost)
		}
	}
}
