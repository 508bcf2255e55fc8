package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// withABegunWrite has a write that the store has and does not answer. It returns the run
// that it holds up, and where its answer comes.
func withABegunWrite(t testing.TB, args ...string) (*place, *run, chan string) {
	t.Helper()
	store := harness.NewFakeStore(t)
	store.Queue("PUT", report, harness.Plan{Never: true})
	p := startedOnce(t)
	p.args = []string{"--upstream", store.URL(), "--settle", "20s"}
	r := p.serves(append(args, "--max-wait", "20s")...)
	answered := make(chan string, 1)
	go func() {
		a, err := send(fresh, http.MethodPut, "http://"+r.data+report, stampOf(33, "a"), strings.NewReader("from A"))
		answered <- strings.TrimSpace(fmt.Sprint(a, " ", errText(err)))
	}()
	sees(store, "PUT", report)
	return p, r, answered
}

// told waits until a run says that it stops.
func (r *run) told() {
	r.t.Helper()
	harness.Eventually(r.t, "it to say that it stops", func() (any, bool) {
		said := strings.Join(r.Stderr(), "\n")
		return said, strings.Contains(said, `"stopping"`)
	})
}

// A second signal, or a kill, ends a stop that waits for a write. Shown: A2's
// part in S1 and S2, that was no clean end, and the next start holds.
func TestStopIsCutShort(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p, r, answered := withABegunWrite(t, "--drain", "1m")
			r.Signal(syscall.SIGTERM)
			r.told()
			select {
			case <-r.Exited():
				t.Fatal("it does not wait for the write")
			case said := <-answered:
				t.Fatalf("the write is answered %s", said)
			default:
			}
			r.Signal(signal)
			if code := r.Wait(); code != 128+int(signal) {
				t.Errorf("exit code %d", code)
			}
			if said := <-answered; !strings.HasPrefix(said, "0 ") {
				t.Errorf("the write is answered %s by a dead process", said)
			}
			p.serves().holdsFor(10, 20)
		})
	}
}

// Without a drain time a stop waits for nothing: it is clean exactly if there is
// nothing to wait for.
func TestStopWithoutDrainTime(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		p := startedOnce(t)
		for range 5 {
			r := p.serves("--drain", "0s", "--settle", "20s")
			r.holdsNothing()
			r.stops(0)
		}
	})
	t.Run("a begun write", func(t *testing.T) {
		t.Parallel()
		p, r, answered := withABegunWrite(t, "--drain", "0s")
		r.stops(0)
		<-answered
		p.serves().holdsFor(10, 20)
	})
}

// The ledger's disk is full, and a commit is being tried again, when fencegate
// is told to end. Shown: it ends within the drain time, as after any TERM; what
// could not be recorded has not begun; and the end is not clean.
func TestStopOnAFullDisk(t *testing.T) {
	t.Parallel()
	p := startedOnce(t)
	r := p.serves("--settle", "20s", "--drain", "500ms", "--max-wait", "1m")
	limitPID(t, r.PID(), 1)
	answered := make(chan string, 1)
	go func() {
		a, err := send(fresh, http.MethodDelete, "http://"+r.data+report, stampOf(7, "holder"), http.NoBody)
		answered <- strings.TrimSpace(fmt.Sprint(a, " ", errText(err)))
	}()
	harness.Eventually(t, "the log to tell of the full disk", func() (any, bool) {
		said := strings.Join(r.Stderr(), "\n")
		return said, strings.Contains(said, "the ledger's disk is full")
	})
	began := time.Now()
	r.stops(0)
	if took := time.Since(began); took > 10*time.Second { // twenty times as long
		t.Errorf("it took %v", took)
	}
	// Perhaps its connection was cut before the refusal was sent.
	if said := <-answered; said != "503 draining" && !strings.HasPrefix(said, "0 ") {
		t.Errorf("what waited for the ledger is answered %s", said)
	}
	if _, err := os.Lstat(filepath.Join(p.state, "ledger.suspect")); !os.IsNotExist(err) {
		t.Errorf("a full disk makes the ledger suspect: %v", err)
	}
	p.serves("--settle", "100ms").holdsFor(10, 20)
}

// Many write, with tokens that rise, while fencegate is told to end. Shown: S1,
// S4 and S5 up to the last transaction: what was answered with success is there,
// what was refused is not, the marks cover all that is there; and as nothing was
// left open, the end is clean.
func TestStopUnderWriters(t *testing.T) {
	t.Parallel()
	p := startedOnce(t)
	for round := range max(harness.Scale(40), 4) {
		r := p.serves("--max-wait", "10s", "--settle", "20s")
		var writers sync.WaitGroup
		objects := make([]*stopping, 4)
		enough := make(chan struct{})
		var once sync.Once
		for i := range objects {
			o := &stopping{path: fmt.Sprintf("/object/%d", i), refused: map[uint64]bool{}}
			objects[i] = o
			for range 2 {
				writers.Go(func() {
					o.write(t, r, uint64(round)*1_000_000, func() { once.Do(func() { close(enough) }) })
				})
			}
		}
		select {
		case <-enough:
		case <-time.After(harness.Patience):
			t.Fatal("nothing is written")
		}
		r.stops(0)
		writers.Wait()
		if said := ledger(t, 0, "check", "--state", p.state).Stdout(); !strings.HasSuffix(said[0], "; stopped in order") {
			t.Errorf("round %d: %s", round, said)
		}
		marks := map[string]fence.Token{}
		for _, row := range ledgerRows(t, ledger(t, 0, "list", "--state", p.state, "--json")) {
			n, err := strconv.ParseUint(row.Token, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			marks[row.Path] = fence.Token(n)
		}
		for _, o := range objects {
			o.check(t, p, uint64(marks[o.path]))
		}
		if t.Failed() {
			return
		}
	}
}

// stopping is an object that is written until its server is gone.
type stopping struct {
	path string

	mu      sync.Mutex
	token   uint64
	done    uint64 // the highest token that was answered with success
	refused map[uint64]bool
}

func (o *stopping) write(t *testing.T, r *run, base uint64, enough func()) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: harness.Patience}
	defer client.CloseIdleConnections()
	for n := 0; ; n++ {
		o.mu.Lock()
		o.token++
		token := base + o.token
		o.mu.Unlock()
		a, err := send(client, http.MethodPut, "http://"+r.data+o.path, stampOf(fence.Token(token), strconv.FormatUint(token, 10)), bytes.NewReader(contentOf(token)))
		if err != nil {
			return // perhaps it took effect
		}
		o.mu.Lock()
		switch {
		case a.status/100 == 2:
			o.done = max(o.done, token)
		case a.String() == "412 stale_token" || a.String() == "503 draining":
			o.refused[token] = true
		default:
			t.Errorf("%s: token %d is answered %v", o.path, token, a)
		}
		o.mu.Unlock()
		if a.status == http.StatusServiceUnavailable {
			return
		}
		if n == 20 {
			enough()
		}
	}
}

// check compares what is there with what was answered.
func (o *stopping) check(t *testing.T, p *place, mark uint64) {
	t.Helper()
	content := contentIfAny(t, filepath.Join(p.data, o.path))
	var visible uint64
	if _, err := fmt.Sscan(string(content), &visible); err != nil && err != io.EOF || !bytes.Equal(content, contentOf(visible)) {
		t.Errorf("%s holds %d bytes of token %d, not what its writer wrote, %v", o.path, len(content), visible, err)
	}
	switch {
	case visible < o.done:
		t.Errorf("%s holds what token %d wrote, although %d was answered", o.path, visible, o.done)
	case o.refused[visible]:
		t.Errorf("%s holds what token %d wrote, which was refused", o.path, visible)
	case mark < visible:
		t.Errorf("%s holds what token %d wrote, but its mark is %d", o.path, visible, mark)
	}
}
