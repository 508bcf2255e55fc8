package integration

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// Whatever clients send, metrics, memory and goroutines stay bounded.
func TestRandomRequests(t *testing.T) {
	s := harness.Fencegate(t, "--policy", "adopt")
	quiet := s.Metrics()
	heap, goroutines := quiet.Gauge("go_memstats_heap_alloc_bytes"), quiet.Gauge("go_goroutines")

	const clients = 8
	var sending sync.WaitGroup
	for c := range clients {
		sending.Go(func() {
			rng := rand.New(rand.NewPCG(42, uint64(c)))
			for left := harness.Scale(100_000) / clients; left > 0; {
				left = sendRandom(t, strings.TrimPrefix(s.URL(), "http://"), rng, left)
			}
		})
	}
	sending.Wait()

	if n := len(seriesOf(t, s.AdminURL())); n >= 500 {
		t.Errorf("%d metric series, want fewer than 500", n)
	}
	harness.Eventually(t, "goroutines to end", func() (any, bool) {
		n := s.Metrics().Gauge("go_goroutines")
		return n, n <= goroutines
	})
	harness.Eventually(t, "memory to be back", func() (any, bool) {
		more := s.Metrics().Gauge("go_memstats_heap_alloc_bytes") - heap
		return fmt.Sprintf("%.0f KiB more", more/1024), more < 16<<20
	})
}

// seriesOf returns the lines of /metrics that are series of fencegate's own.
func seriesOf(t *testing.T, admin string) (series []string) {
	t.Helper()
	res, err := http.Get(admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "fencegate_") {
			series = append(series, lines.Text())
		}
	}
	return series
}

// sendRandom sends up to n random requests on one connection and returns how
// many are left when fencegate has closed it.
func sendRandom(t *testing.T, addr string, rng *rand.Rand, n int) int {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		t.Error(err)
		return 0
	}
	answers := bufio.NewReader(conn)
	for ; n > 0; n-- {
		method, text := randomRequest(rng)
		if _, err := io.WriteString(conn, text); err != nil {
			return n - 1
		}
		res, err := http.ReadResponse(answers, &http.Request{Method: method})
		if err != nil {
			t.Errorf("no answer to %q: %v", text, err)
			return n - 1
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Errorf("answer to %q: %v", text, err)
		}
		if res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented {
			t.Errorf("%q is answered %s", text, res.Status)
		}
		if res.Close {
			return n - 1
		}
	}
	return 0
}

// randomRequest makes a request that is well framed, and anything beyond that.
func randomRequest(rng *rand.Rand) (method, text string) {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	method = pick("GET", "HEAD", "PUT", "PUT", "DELETE", "POST", "OPTIONS", "MKCOL", "TRACE", fmt.Sprintf("M%X", rng.Uint32()))
	path := ""
	for range 1 + rng.IntN(4) {
		path += fmt.Sprintf("/%s%d", pick("", "a", "%20", "..", "%2F", "é", ";", "%00", "x+"), rng.IntN(1_000_000))
	}
	own := "/.well-known/fencegate/"
	body := pick("", "v", `{"resource":"`+path+`","token":"5"}`)
	target := pick(path, path, path, own+"claims", own+"marks?resource="+path, path+"?q="+fmt.Sprint(rng.Uint32()), path+"/")
	text = fmt.Sprintf("%s %s HTTP/1.1\r\nHost: h%d.example\r\nContent-Length: %d\r\n", method, target, rng.IntN(1_000_000), len(body))
	if rng.IntN(4) > 0 {
		text += "Content-Type: application/json\r\n"
	}
	if rng.IntN(3) > 0 {
		text += fmt.Sprintf("X-Fencing-Token: %s\r\n", pick(fmt.Sprint(1+rng.IntN(1_000_000)), fmt.Sprint(rng.Uint64()), "-1", "1, 2", ""))
	}
	if rng.IntN(3) == 0 {
		text += fmt.Sprintf("X-Fencing-Owner: o%d\r\nX-Fencing-Client: c%d\r\n", rng.Uint32(), rng.Uint32())
	}
	return method, text + "\r\n" + body
}
