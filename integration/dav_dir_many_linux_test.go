package integration

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// A hundred clients with one token store, and then copy, to where nothing may be
// yet. Shown: one of them is told that it has, and that is what is there; also
// where nothing waits at the gate, since fencegate only watches.
func TestOneOfManyCreates(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"require", "observe"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			oneCreates(t, serveDAV(t, "--policy", policy))
		})
	}
}

func oneCreates(t *testing.T, s served) {
	t.Helper()
	s.make(t, "7", "/d/", "/d/from")
	const clients = 100
	race := func(text func(client int) string) (winner int) {
		t.Helper()
		answers := make([]answer, clients)
		start := make(chan struct{})
		var done sync.WaitGroup
		for i := range clients {
			done.Go(func() {
				<-start
				var err error
				if answers[i], err = tryAsk(s.URL(), text(i)); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		done.Wait()
		winner = -1
		for i, a := range answers {
			switch {
			case a.String() == "201" && winner < 0:
				winner = i
			case a.String() != "412":
				t.Errorf("%q is answered %v: %s", text(i), a, a.body)
			}
		}
		if winner < 0 {
			t.Fatal("nobody is told 201")
		}
		return winner
	}
	winner := race(func(i int) string {
		return fmt.Sprint("PUT /d/put\nX-Fencing-Token: 7\nIf-None-Match: *\n\nof ", i)
	})
	holds(t, s.Server, "/d/put", fmt.Sprint("of ", winner))
	race(func(int) string {
		return "COPY /d/from\nX-Fencing-Token: 7\nOverwrite: F\nDestination: /d/copied"
	})
	holds(t, s.Server, "/d/copied", "of /d/from")
	s.isSwept(t)
}

// Many writers share the token of one tree and write different objects. Shown:
// none waits at the gate for another.
func TestOneTokenWritesInParallel(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "fencegate.yaml")
	if err := os.WriteFile(config, []byte("routes: [{name: tree, path: /t, fence: tree}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveDAV(t, "--config", config)
	s.make(t, "7", "/t/")
	asked(t, s.URL(), "201", "PUT /t/first\nX-Fencing-Token: 7\nX-Fencing-Owner: the-same\n\nv") // raises the mark for all
	raised := s.Metrics().Counter("fencegate_raise_batch_size")
	const writers, rounds = 64, 4
	var done sync.WaitGroup
	for i := range writers {
		done.Go(func() {
			for n := range rounds {
				a, err := tryAsk(s.URL(), fmt.Sprintf("PUT /t/f%d\nX-Fencing-Token: 7\nX-Fencing-Owner: the-same\n\n%d of %d", i, n, i))
				if err != nil || a.String() != map[bool]string{true: "201", false: "204"}[n == 0] {
					t.Errorf("round %d of writer %d is answered %v, %v: %s", n, i, a, err, a.body)
				}
			}
		})
	}
	done.Wait()
	for i := range writers {
		holds(t, s.Server, fmt.Sprint("/t/f", i), fmt.Sprintf("%d of %d", rounds-1, i))
	}
	if now := s.Metrics().Counter("fencegate_raise_batch_size"); now != raised {
		t.Errorf("marks were raised %v times by equal tokens", now-raised)
	}
	buckets := gateWaits(t, s.Server)
	p99 := "above"
	for _, b := range buckets {
		if b.count >= 0.99*buckets[len(buckets)-1].count {
			p99 = b.le
			break
		}
	}
	t.Logf("%v requests passed the gate, 99 %% of them within %s s: %v", buckets[len(buckets)-1].count, p99, buckets)
	for _, b := range buckets {
		if le, err := strconv.ParseFloat(b.le, 64); err != nil || le >= 1 { // what waits at all waits for a whole write
			if n := buckets[len(buckets)-1].count - b.count; n > 0 || buckets[len(buckets)-1].count < writers*rounds {
				t.Errorf("%v of %v requests waited more than %s s", n, buckets[len(buckets)-1].count, b.le)
			}
			return
		}
	}
	t.Errorf("no bucket is at 1 s or above: %v", buckets)
}

type bucket struct {
	le    string
	count float64
}

// gateWaits returns how long requests have waited at the gate: how many at most
// so many seconds.
func gateWaits(t *testing.T, s *harness.Server) (buckets []bucket) {
	t.Helper()
	a, err := send(fresh, http.MethodGet, s.AdminURL()+"/metrics", fence.Stamp{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(strings.NewReader(a.body)); in.Scan(); {
		if rest, ok := strings.CutPrefix(in.Text(), `fencegate_gate_wait_seconds_bucket{le="`); ok {
			var b bucket
			le, count, _ := strings.Cut(rest, `"} `)
			if b.count, err = strconv.ParseFloat(count, 64); err != nil {
				t.Fatal(err)
			}
			b.le = le
			buckets = append(buckets, b)
		}
	}
	if len(buckets) < 2 {
		t.Fatalf("/metrics has no buckets of the time at the gate:\n%s", a.body)
	}
	return buckets
}

// A hundred thousand files are listed. Shown: fencegate does not keep the answer
// in memory, nor the names.
func TestListingOfALargeDirectory(t *testing.T) {
	t.Parallel()
	n := harness.Scale(100_000)
	s := served{harness.FencegateAsShipped(t, "--protocol", "webdav")}
	many := filepath.Join(s.Data, "many")
	if err := os.Mkdir(many, 0o755); err != nil {
		t.Fatal(err)
	}
	asked(t, s.URL(), "207", "PROPFIND /\nDepth: 1") // what is made once has been
	for i := range n {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("a file with a name, number %06d.txt", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	idle := memoryOf(t, s.Server, "VmRSS:")
	took := list(t, s.URL()+"/many/", "/many/", n)
	peak := memoryOf(t, s.Server, "VmHWM:")
	t.Logf("%d files are listed in %v; the peak of memory is %d KiB, before it had %d KiB", n, took, peak, idle)
	if peak-idle > mostOfListing {
		t.Errorf("the listing took %d KiB of memory, want %d at most", peak-idle, mostOfListing)
	}
	seen, next := 0, "/many/"
	for next != "" {
		links := linksOf(asked(t, s.URL(), "200", "GET "+next).body)
		next = ""
		for _, link := range links {
			switch {
			case strings.HasPrefix(link, "?"):
				next = "/many/" + link
			case link != "../":
				seen++
			}
		}
	}
	if seen != n {
		t.Errorf("the pages for browsers have %d names, want %d", seen, n)
	}
	start := time.Now()
	asked(t, s.URL(), "204", "DELETE /many/\nX-Fencing-Token: 7")
	t.Logf("they are deleted in %v", time.Since(start))
	asked(t, s.URL(), "404", "PROPFIND /many/\nDepth: 0")
}
