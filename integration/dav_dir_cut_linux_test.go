package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// Uploads to a directory over WebDAV break off in all ways, and the last ones
// because fencegate is killed. Shown: the objects are what they were, in content,
// time and properties; and after the next start nothing of it is left.
func TestCutUploadsOverADirectory(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	s.make(t, "6", "/d/", "/d/f")
	asked(t, s.URL(), "207", "PROPPATCH /d/f\nX-Fencing-Token: 6\n\n"+propertyUpdate("early"))
	before := s.contents(t)
	half := strings.Repeat("half", 10_000)
	heads := []string{
		"PUT /d/f\nContent-Length: 80000\n\n" + half,
		"PUT /d/f\nTransfer-Encoding: chunked\n\n9c40\n" + half,
		"PUT /d/new\nContent-Length: 80000\n\n" + half,
		"PUT /d/none/new\nContent-Length: 80000\n\n" + half,
		"PUT /d/f\nTransfer-Encoding: chunked\n\n40000\n" + strings.Repeat(half, 5), // within a chunk
		"PUT /d/f\nTransfer-Encoding: chunked\n\n9c40\n" + half + "\n",
		"PUT /d/f\nTransfer-Encoding: chunked\n\n9c40\n" + half + "\n0\n",
		"PUT /d/f\nIf-Match: *\nContent-Length: 80000\n\n" + half,
		"PROPPATCH /d/f\nContent-Length: 80000\n\n" + half,
		"LOCK /d/f\nContent-Length: 80000\n\n" + half,
		"LOCK /d/new\nTransfer-Encoding: chunked\n\n9c40\n" + half,
		"MKCOL /d/c/\nContent-Length: 80000\n\n" + half,
		"DELETE /d\nContent-Length: 80000\n\n" + half,
		"MOVE /d\nDestination: /g\nContent-Length: 80000\n\n" + half,
		"COPY /d\nDestination: /g\nContent-Length: 80000\n\n" + half,
	}
	arrives := func(text string, n int) *wire {
		t.Helper()
		line, rest, _ := strings.Cut(text, "\n")
		w := dial(t, s.Server)
		w.send(line + " HTTP/1.1\nHost: x\nX-Fencing-Token: 7\n" + rest)
		harness.Eventually(t, fmt.Sprintf("a part of %.80q to arrive", text), func() (any, bool) {
			got := s.Metrics().Gauge("fencegate_spool_bytes")
			return got, got >= float64(n*32<<10) // a chunk is counted piece by piece
		})
		return w
	}
	staged := filepath.Join(s.Data, ".fencegate", "staged")
	for _, text := range heads {
		for _, reset := range []bool{false, true} {
			w := arrives(text, 1)
			if reset {
				if err := w.Conn.(*net.TCPConn).SetLinger(0); err != nil {
					t.Fatal(err)
				}
			}
			w.Close()
			harness.Eventually(t, "nothing of it to be left", func() (any, bool) {
				now := s.Metrics()
				left, err := os.ReadDir(staged)
				return fmt.Sprint(now.Gauge("fencegate_spool_bytes"), left, err), now.Gauge("fencegate_spool_bytes") == 0 && waiting(now, 0) && len(left) == 0
			})
		}
		if now := s.contents(t); now != before {
			t.Fatalf("after %.40q the store holds\n%s\nwant\n%s", text, now, before)
		}
	}
	for i, text := range heads { // these stall, all at once
		arrives(text, i+1)
	}
	if left, err := os.ReadDir(staged); err != nil || len(left) < 5 {
		t.Errorf("of the stalled uploads %v are staged, %v", left, err)
	}
	s.Restart()
	s.isSwept(t)
	if now := s.contents(t); now != before {
		t.Errorf("the store holds\n%s\nwant\n%s", now, before)
	}
	asked(t, s.URL(), "412 stale_token", "PUT /d/f\nX-Fencing-Token: 6\n\nlate")
	asked(t, s.URL(), "204", "PUT /d/f\nX-Fencing-Token: 7\n\nwhole")
	if a := asked(t, s.URL(), "207", "PROPFIND /d/f\nDepth: 0"); !strings.Contains(a.body, "early") {
		t.Errorf("a PUT takes the property away:\n%s", a.body)
	}
}
