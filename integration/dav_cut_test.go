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

// Uploads break off on their way to fencegate, in all ways, and the last ones
// because fencegate is killed. Shown: none of it reaches the store, and after the
// next start nothing of it is left.
func TestCutUploadsOverWebDAV(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		s := davFence(t, store)
		asked(t, s.URL(), "201", "PUT /f\nX-Fencing-Token: 6\n\nas it was")
		before := filesOf(t, store)
		half := strings.Repeat("half", 10_000)
		heads := []string{
			"PUT /f\nContent-Length: 80000\n\n" + half,
			"PUT /f\nTransfer-Encoding: chunked\n\n9c40\n" + half,
			"PUT /f\nTransfer-Encoding: chunked\n\n13880\n" + half,
			"PUT /f\nTransfer-Encoding: chunked\n\n9c40\n" + half + "\n",
			"PUT /f\nTransfer-Encoding: chunked\n\n9c40\n" + half + "\n0\n",
			"PUT /new\nContent-Length: 80000\n\n" + half,
			"PROPPATCH /f\nContent-Length: 80000\n\n" + half,
			"LOCK /f\nContent-Length: 80000\n\n" + half,
			"MKCOL /c/\nContent-Length: 80000\n\n" + half,
			"MOVE /f\nDestination: /g\nContent-Length: 80000\n\n" + half,
		}
		arrives := func(text string) *wire {
			t.Helper()
			line, rest, _ := strings.Cut(text, "\n")
			w := dial(t, s)
			w.send(line + " HTTP/1.1\nHost: " + s.URL()[7:] + "\nX-Fencing-Token: 7\n" + rest)
			harness.Eventually(t, "a part of "+line+" to arrive", func() (any, bool) {
				n := s.Metrics().Gauge("fencegate_spool_bytes")
				return n, n >= 32<<10 // a chunk is counted piece by piece
			})
			return w
		}
		for _, text := range heads {
			for _, reset := range []bool{false, true} {
				w := arrives(text)
				if reset {
					if err := w.Conn.(*net.TCPConn).SetLinger(0); err != nil {
						t.Fatal(err)
					}
				}
				w.Close()
				harness.Eventually(t, "nothing of it to be left", func() (any, bool) {
					now := s.Metrics()
					return now.Gauge("fencegate_spool_bytes"), now.Gauge("fencegate_spool_bytes") == 0 && waiting(now, 0)
				})
			}
		}
		for _, text := range heads[:4] { // these stall
			arrives(text)
			s.Restart()
		}
		entries, err := os.ReadDir(filepath.Join(s.State, "spool"))
		if err != nil || len(entries) > 0 {
			t.Errorf("the spool holds %v, %v", entries, err)
		}
		if now := filesOf(t, store); now != before {
			t.Errorf("the store holds\n%s\nwant\n%s", now, before)
		}
		sentOnly(t, store, 1)
		asked(t, s.URL(), "412 stale_token", "PUT /f\nX-Fencing-Token: 6\n\nlate")
		asked(t, s.URL(), "204", "PUT /f\nX-Fencing-Token: 7\n\nwhole")
	})
}

// A whole upload breaks off on its way from fencegate to the store: because
// fencegate is killed, the network resets it, or its end comes early. Shown: the
// store drops what it has, and S1; the next holder's write is what stays.
func TestCutOnTheWayToTheStore(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		line := harness.NewLine(t, store.Addr())
		s := harness.Fencegate(t, "--upstream", line.URL(), "--protocol", "webdav", "--settle", "500ms")
		asked(t, s.URL(), "201", "MKCOL /d/")
		asked(t, s.URL(), "201", "PUT /d/f\nX-Fencing-Token: 1\n\nas it was")
		before := filesOf(t, store)
		token := 1
		for how, cut := range map[string]func(){
			"killed": func() { s.Kill() }, "reset": line.Cut, "ended": func() { line.HalfClose(harness.Up) },
		} {
			token++
			line.Rate(harness.Up, 512<<10)
			said := make(chan string, 1)
			go func() {
				a, err := tryAsk(s.URL(), fmt.Sprint("PUT /d/f\nX-Fencing-Token: ", token, "\n\n", strings.Repeat("large", 500_000)))
				said <- strings.TrimSpace(fmt.Sprint(a, " ", err))
			}()
			harness.Eventually(t, "a part to be at the store", func() (any, bool) {
				parts := partsAt(t, store)
				return parts, len(parts) == 1
			})
			cut()
			line.Rate(harness.Up, 0)
			t.Logf("%s: the client is told %s", how, <-said)
			if how == "killed" {
				s.Restart()
			}
			harness.Eventually(t, "the store to drop what it got", func() (any, bool) {
				parts := partsAt(t, store)
				return parts, len(parts) == 0
			})
			if now := filesOf(t, store); now != before {
				t.Fatalf("%s: the store holds\n%.300s\nwant\n%s", how, now, before)
			}
			token++
			asked(t, s.URL(), "204", fmt.Sprint("PUT /d/f\nX-Fencing-Token: ", token, "\n\nas it was"))
			asked(t, s.URL(), "412 stale_token", fmt.Sprint("PUT /d/f\nX-Fencing-Token: ", token-1, "\n\nagain"))
			if now := filesOf(t, store); now != before {
				t.Fatalf("%s: then the store holds\n%.300s\nwant\n%s", how, now, before)
			}
		}
		if entries, err := os.ReadDir(filepath.Join(s.State, "spool")); err != nil || len(entries) > 0 {
			t.Errorf("the spool holds %v, %v", entries, err)
		}
	})
}

// partsAt returns the files in which a store keeps what has not come whole.
func partsAt(t testing.TB, store davStore) (parts []string) {
	t.Helper()
	for _, pattern := range []string{store.Root() + "/d/.davfs.tmp*", store.Root() + "/../uploads/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, found...)
	}
	return parts
}
