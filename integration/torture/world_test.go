package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/integration/harness"
	"fencegate/integration/history"
)

// The store settles within settle, fencegate gives up after giveUp, and no
// lease is longer than longestLease.
const (
	settle       = 250 * time.Millisecond
	giveUp       = 300 * time.Millisecond
	maxWait      = 600 * time.Millisecond
	longestLease = 300 * time.Millisecond
)

// workers are processes of so many holders each.
const (
	workers = 6
	holders = 4
)

// world is one run: everything that is started for a seed.
type world struct {
	t     *testing.T
	seed  uint64
	open  bool // fencegate lets all pass
	fence *harness.Server
	store *harness.FakeStore
	redis *harness.RedisServer
	rdb   *redis.Client // past all faults

	toFence, toStore, toRedis *network

	records string // directory of the workers' records
	workers []*worker
	frozen  bool // fencegate is stopped
	foul    atomic.Bool
	plans   *weather
	marks   marks
	counts  counts
	began   time.Duration // harness.Monotonic
}

// worker is a process of holders, and all that came after it was killed.
type worker struct {
	process *harness.Process
	lives   int
	stopped bool
}

func newWorld(t *testing.T, seed uint64, open bool) *world {
	t.Helper()
	w := &world{t: t, seed: seed, open: open, records: t.TempDir(), counts: counts{}, marks: marks{}}
	w.store = harness.NewFakeStore(t)
	w.toStore = newNetwork(t, w.store.Addr())
	w.store.Behind(w.toStore.Line)
	w.plans = &weather{random: w.random("weather"), foul: &w.foul, highest: marks{}}
	w.store.Plan(w.plans.plan)

	policy := "require"
	if open {
		policy = "open"
	}
	config := filepath.Join(t.TempDir(), "fencegate.yaml")
	if err := os.WriteFile(config, []byte(routes), 0o666); err != nil {
		t.Fatal(err)
	}
	w.fence = harness.Fencegate(t, "--config", config, "--upstream", w.toStore.URL(), "--policy", policy,
		"--settle", settle.String(), "--max-wait", maxWait.String(), "--upstream-timeout", giveUp.String(), "--drain", "2s")
	w.toFence = newNetwork(t, w.fence.URL()[len("http://"):])

	w.redis = harness.Redis(t)
	w.toRedis = newNetwork(t, w.redis.Addr())
	w.rdb = redis.NewClient(&redis.Options{Addr: w.redis.Addr()})
	t.Cleanup(func() { w.rdb.Close() })
	for range workers {
		k := &worker{}
		w.workers = append(w.workers, k)
		w.live(len(w.workers)-1, k)
	}
	return w
}

// random is a stream of numbers of this seed and name.
func (w *world) random(name string) *rand.Rand {
	var mixed uint64 = 14695981039346656037 // FNV-1a
	for _, b := range []byte(name) {
		mixed = (mixed ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed, mixed))
}

// live starts the process of worker i, for the first time or again.
func (w *world) live(i int, k *worker) {
	w.t.Helper()
	k.lives++
	name := fmt.Sprintf("w%d.%d", i, k.lives)
	k.process = harness.Worker(w.t, "holder",
		"-redis", w.toRedis.Addr(), "-fence", w.toFence.URL(), "-name", name,
		"-record", filepath.Join(w.records, name), "-seed", fmt.Sprint(w.random(name).Uint64()),
		"-holders", fmt.Sprint(holders), fmt.Sprint("-plain=", w.plain()))
	k.stopped = false
}

// plain says whether tokens come from the counter alone: every second seed.
func (w *world) plain() bool { return w.seed%2 == 1 }

// run lets the world be for so long, and returns what happened in it.
func (w *world) run(d time.Duration) history.History {
	w.t.Helper()
	w.foul.Store(true)
	w.began = harness.Monotonic()
	newSchedule(w).run(d)
	w.calm()
	for _, k := range w.workers {
		k.process.Send("stop")
	}
	for _, k := range w.workers {
		k.process.AwaitLine("done")
		if code := k.process.Wait(); code != 0 {
			w.t.Errorf("a worker ended with %d", code)
		}
	}
	w.fence.AwaitReady()
	harness.Eventually(w.t, "everything to be settled", func() (any, bool) {
		m := w.fence.Metrics()
		now := [2]float64{m.Gauge("fencegate_inflight_writes"), m.Gauge("fencegate_settling_entries")}
		return now, now == [2]float64{}
	})
	w.marks.hold(w)
	return w.history()
}

// calm takes back all that is wrong, once no fault strikes any more.
func (w *world) calm() {
	w.t.Helper()
	w.foul.Store(false)
	w.thaw()
	for _, n := range []*network{w.toFence, w.toStore, w.toRedis} {
		n.mend()
	}
	for _, k := range w.workers {
		if k.stopped {
			k.stopped = false
			k.process.Resume()
		}
	}
}

// history reads the workers' records and the store's log.
func (w *world) history() history.History {
	w.t.Helper()
	var h history.History
	files, err := filepath.Glob(filepath.Join(w.records, "*"))
	if err != nil || len(files) == 0 {
		w.t.Fatal("there are no records: ", err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			w.t.Fatal(err)
		}
		operations, err := history.Read(file)
		file.Close()
		if err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
		h.Operations = append(h.Operations, operations...)
	}
	for _, e := range w.store.Effects() {
		effect := history.Effect{At: int64(e.At), ID: e.ID, Object: e.Path, Delete: e.Method == "DELETE"}
		if id := idOf(e.Body); !effect.Delete && id != e.ID {
			effect.ID = id
		}
		h.Effects = append(h.Effects, effect)
	}
	return h
}

// ask is a context for what this process itself asks of Redis.
func (w *world) ask() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), harness.Patience)
}
