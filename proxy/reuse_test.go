package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// TestRequestsAreNotMixedUp: what a request, its answer and its body are kept in
// serves others afterwards. So many at once, some of which are overtaken, cut off
// by their client, or too slow, must see nothing of one another: neither the
// store, nor the client, nor the log.
func TestRequestsAreNotMixedUp(t *testing.T) {
	for _, kind := range []string{"spooled", "staged", "streamed"} {
		t.Run(kind, func(t *testing.T) {
			m := &mixer{t: t, seen: map[string]int{}}
			var change func(*plan)
			switch kind {
			case "staged":
				var s *fakeStager
				change = staging(&s)
			case "streamed":
				var s *fakeStreamer
				change = streaming(&s)
			default:
				change = func(*plan) {}
			}
			w := open(t, change, limits(BodyLimits{Idle: 300 * time.Millisecond}), maxWait(200*time.Millisecond))
			w.store.write = m.store
			m.token.Store(1000)
			var clients sync.WaitGroup
			for i := range 12 {
				rnd := rand.New(rand.NewPCG(7, uint64(i)))
				clients.Go(func() {
					for range harness.Scale(300) {
						m.connection(w, rnd)
					}
				})
			}
			clients.Wait()
			w.ended()
			m.mu.Lock()
			defer m.mu.Unlock()
			t.Log(m.seen)
			for _, what := range []string{"stored", string(fence.StaleToken), "left", "stopped"} {
				if m.seen[what] == 0 {
					t.Errorf("%q has not been tried: %v", what, m.seen)
				}
			}
		})
	}
}

type mixer struct {
	t     *testing.T
	token atomic.Int64

	mu   sync.Mutex
	seen map[string]int
}

func (m *mixer) count(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[what]++
}

// store checks that head and body belong together, at first and after a while.
func (m *mixer) store(r *http.Request, body string) (*http.Response, fence.Outcome, error) {
	for range 2 {
		id, sum := r.Header.Get("X-Request-Id"), fmt.Sprint(crc32.ChecksumIEEE([]byte(body)))
		if !strings.HasSuffix(r.RequestURI, "?id="+id) || r.URL.RawQuery != "id="+id || r.Header.Get("Sum") != sum || r.Header.Get("Id-Too") != id {
			m.t.Errorf("the store got %s with the header %v and a body whose sum is %s", r.RequestURI, r.Header, sum)
		}
		for range 100 {
			runtime.Gosched() // while others come and go
		}
	}
	return storeSays(http.StatusCreated, "stored "+r.Header.Get("X-Request-Id")), fence.Definite, nil
}

// connection is a few writes of one client.
func (m *mixer) connection(w *world, rnd *rand.Rand) {
	c := w.dial()
	defer c.Close()
	for range 1 + rnd.IntN(4) {
		if !m.write(c, rnd) {
			return
		}
	}
}

// write reports whether the connection can be used again.
func (m *mixer) write(c *client, rnd *rand.Rand) bool {
	id := fmt.Sprintf("%x", rnd.Uint64())
	path := fmt.Sprintf("/%d", rnd.IntN(2+rnd.IntN(20)))
	token := m.token.Add(int64(rnd.IntN(2))) - int64(rnd.IntN(2)*rnd.IntN(4))
	body := bytes.Repeat([]byte(id), []int{0, 1, 50, 1000, 8000}[rnd.IntN(5)])
	var text bytes.Buffer
	fmt.Fprintf(&text, "PUT %s?id=%s HTTP/1.1\r\nHost: h\r\nX-Request-Id: %s\r\nId-Too: %s\r\nX-Fencing-Client: c%s\r\nX-Fencing-Token: %d\r\nSum: %d\r\n",
		path, id, id, id, id, token, crc32.ChecksumIEEE(body))
	if rnd.IntN(2) == 0 {
		fmt.Fprintf(&text, "Content-Length: %d\r\n\r\n%s", len(body), body)
	} else {
		text.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		if len(body) > 0 {
			fmt.Fprintf(&text, "%x\r\n%s\r\n", len(body), body)
		}
		text.WriteString("0\r\n\r\n")
	}
	stop, how := text.Len(), rnd.IntN(10)
	if how < 3 {
		stop = rnd.IntN(text.Len())
	}
	// The server may have answered by now, and closed; then the answer is there.
	half := stop * rnd.IntN(3) / 2
	_, err := c.Write(text.Bytes()[:min(half, stop)])
	if err == nil {
		_, err = c.Write(text.Bytes()[min(half, stop):stop])
	}
	switch {
	case err != nil:
		m.count("cut while sending")
	case how == 0:
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
		m.count("left")
		return false
	case how == 1 && stop < text.Len():
		m.count("left")
		return false
	case how == 2:
		m.count("stopped") // and waits
		if !bytes.Contains(text.Bytes()[:stop], []byte("\r\n\r\n")) {
			return false // its head would take long
		}
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		m.count("no answer")
		return false
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		m.count("no whole answer")
		return false
	}
	m.check(res, answer, id, path, token)
	return !res.Close && stop == text.Len()
}

func (m *mixer) check(res *http.Response, answer []byte, id, path string, token int64) {
	if res.StatusCode == http.StatusCreated {
		m.count("stored")
		if string(answer) != "stored "+id {
			m.t.Errorf("%s was answered %q", id, answer)
		}
		return
	}
	var p problem
	if err := json.Unmarshal(answer, &p); err != nil {
		m.t.Errorf("%s was answered %d %q", id, res.StatusCode, answer)
		return
	}
	m.count(string(p.Reason))
	if p.RequestID != id || res.Header.Get("X-Request-Id") != id || p.Resource != "" && p.Resource != path || p.Token != "" && p.Token != strconv.FormatInt(token, 10) {
		m.t.Errorf("%s, to %s with %d, was answered %q", id, path, token, answer)
	}
}
