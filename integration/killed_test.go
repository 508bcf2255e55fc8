package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// Again and again fencegate is killed under writers whose tokens rise. Shown:
// S5 durable and S1 order. After each start the mark is at or above what the
// object shows, every write that was answered is there or overwritten by a
// newer one, no object is in halves, and nothing is left lying about.
func TestKilledUnderWriters(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	killUnderWriters(t, s, harness.Scale(200), func() { isSwept(t, s) })
}

// killUnderWriters kills fencegate in so many rounds, and calls swept in the end
// of each.
func killUnderWriters(t *testing.T, s *harness.Server, rounds int, swept func()) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	objects := []*written{{path: "/one"}, {path: "/a/b/two"}, {path: "/a/three"}}
	var token atomic.Uint64
	for range rounds {
		answers := make(chan string, 1<<16)
		var killed atomic.Bool
		var writers sync.WaitGroup
		for _, o := range slices.Repeat(objects, 2) {
			writers.Go(func() {
				if err := o.writeUntilGone(s.URL(), &token, answers); !killed.Load() {
					t.Errorf("a write to %s got no answer although fencegate was running: %v", o.path, err)
				}
			})
		}
		want := 1 + random.IntN(60)
		last := ""
		for patience := time.After(harness.Patience); want > 0; want-- {
			select {
			case last = <-answers:
			case <-patience:
				t.Fatalf("%d successful writes less than wanted; the last answer was %s", want, last)
			}
		}
		killed.Store(true)
		s.Kill()
		writers.Wait()
		s.Restart()
		for _, o := range objects {
			o.check(t, s)
		}
		swept()
	}
}

// written is an object and the highest token of a write to it that was
// answered with success.
type written struct {
	path     string
	answered atomic.Uint64
}

// writeUntilGone writes with ever higher tokens until there is no answer.
func (w *written) writeUntilGone(url string, tokens *atomic.Uint64, answers chan<- string) error {
	client := &http.Client{Transport: &http.Transport{}, Timeout: harness.Patience}
	defer client.CloseIdleConnections()
	for {
		token := tokens.Add(1)
		a, err := send(client, http.MethodPut, url+w.path, stampOf(fence.Token(token), fmt.Sprint(token)), bytes.NewReader(contentOf(token)))
		if err != nil {
			return err
		}
		if a.status/100 == 2 {
			for old := w.answered.Load(); token > old && !w.answered.CompareAndSwap(old, token); old = w.answered.Load() {
			}
			answers <- a.String()
		}
	}
}

// contentOf is what the holder of token writes; each token has a size of its own.
func contentOf(token uint64) []byte {
	line := fmt.Sprintf("%d\n", token)
	return bytes.Repeat([]byte(line), 1+int(token%97)*100)
}

func (w *written) check(t *testing.T, s *harness.Server) {
	t.Helper()
	a, err := send(fresh, http.MethodGet, s.URL()+w.path, fence.Stamp{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var visible uint64
	if a.status != http.StatusNotFound {
		if _, err := fmt.Sscan(a.body, &visible); err != nil || a.body != string(contentOf(visible)) {
			t.Fatalf("%s answers %v and holds %d bytes of token %d, not what its writer wrote", w.path, a, len(a.body), visible)
		}
	}
	if answered := w.answered.Load(); visible < answered {
		t.Fatalf("%s holds what token %d wrote, although token %d was answered", w.path, visible, answered)
	}
	mark, err := fence.ParseToken(markOf(t, s, w.path).Token, fence.MaxToken)
	if visible > 0 && (err != nil || uint64(mark) < visible) {
		t.Fatalf("%s holds what token %d wrote, but its mark is %s, %v", w.path, visible, mark, err)
	}
}

// isSwept checks that no upload of a dead process is left. The trash is emptied
// while requests are served already.
func isSwept(t *testing.T, s *harness.Server) {
	t.Helper()
	places := []string{filepath.Join(s.Data, ".fencegate", "staged"), filepath.Join(s.Data, ".fencegate", "trash"), filepath.Join(s.State, "spool")}
	harness.Eventually(t, "what dead processes left to be swept", func() (any, bool) {
		var left []string
		for _, place := range places {
			entries, err := os.ReadDir(place)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				left = append(left, filepath.Join(place, e.Name()))
			}
		}
		return strings.Join(left, " "), left == nil
	})
}
