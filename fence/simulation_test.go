package fence

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var simSeed = flag.Uint64("sim.seed", 0, "run the gate simulation with this seed only")

// TestSimulation drives the real gate through random histories of writers,
// claims, tree writes, late effects, failing and full ledgers, crashes and
// stops, over an upstream that applies writes whenever it is allowed to, and
// checks the promises on every effect. A failure names the seed:
//
//	go test ./fence -run TestSimulation -sim.seed=N
func TestSimulation(t *testing.T) {
	seeds := uint64(8000)
	if testing.Short() {
		seeds = 300
	}
	if *simSeed != 0 {
		synctest.Test(t, func(t *testing.T) { simulate(t, *simSeed) })
		return
	}
	// Many in one bubble, because the race detector keeps 100 KB for each.
	const perBubble = 50
	for first := uint64(1); first <= seeds && !t.Failed(); first += perBubble {
		synctest.Test(t, func(t *testing.T) {
			for seed := first; seed < first+perBubble && !t.Failed(); seed++ {
				simulate(t, seed)
			}
		})
	}
}

const simSettle = 3 * time.Second

// simulate is one history, in a bubble.
func simulate(t *testing.T, seed uint64) {
	w := &world{t: t, seed: seed, began: time.Now(), rng: rand.New(rand.NewPCG(seed, 1)), ledger: newFakeLedger()}
	w.objects = [][]string{objects, {"/d", "/d/f"}, {"/d/f"}, {"/d", "/d/f", "/d/g"}, {"/t/1", "/t/n/1"}}[w.rng.IntN(5)]
	w.last = map[string]Token{}
	w.answered = map[string]Token{}
	w.owners = map[string]Owner{}
	w.start()
	for range 20 + w.rng.IntN(60) {
		w.step()
		if w.failed {
			break
		}
	}
	w.windDown()
	synctest.Wait()
	if w.failed {
		for _, line := range w.log {
			t.Log(line)
		}
	}
}

// world is the gate with everything around it.
type world struct {
	t      *testing.T
	seed   uint64
	began  time.Time
	rng    *rand.Rand
	gate   *Gate
	ledger *fakeLedger
	life   context.CancelFunc // ends the requests of this run of the gate
	ctx    context.Context
	commit chan error // lets the commit in progress end
	dead   chan struct{}
	reqs   []*simRequest
	log    []string
	failed bool
	count  int
	// objects of this history: with few of them more happens on each
	objects []string

	last     map[string]Token // per object: token of the last effect (S1)
	answered map[string]Token // per object: highest token answered (S2)
	owners   map[string]Owner // per resource and token (S3)
}

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%6.1fs ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.failed = true
	w.log = append(w.log, "VIOLATION: "+fmt.Sprintf(format, args...))
	w.t.Errorf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

func (w *world) start() {
	w.ctx, w.life = context.WithCancel(context.Background())
	w.commit = make(chan error)
	w.dead = make(chan struct{})
	gate, err := Start(w.ctx, &simRun{w.ledger, w.commit, w.dead}, Options{Settle: simSettle, MaxWait: 20 * time.Second, MaxScans: 100, CacheSize: 1 + w.rng.IntN(8)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.gate = gate
	w.logf("start, recovering=%v", gate.State().Recovering)
}

func (w *world) step() {
	switch n := w.rng.IntN(100); {
	case n < 30:
		w.arrive()
	case n < 45:
		w.endCommit(nil)
	case n < 47:
		w.endCommit(ErrLedgerFull)
	case n < 48:
		w.endCommit(errors.New("I/O error"))
	case n < 60:
		w.apply()
	case n < 78:
		w.done()
	case n < 82:
		w.clientLeaves()
	case n < 94:
		d := time.Duration(w.rng.IntN(1500)) * time.Millisecond
		w.logf("%s pass", d)
		time.Sleep(d)
	case n < 96:
		w.crash()
	case n < 98:
		w.stop()
	default:
		// nothing: the requests move on
	}
	synctest.Wait()
	w.collect()
	w.checkIndex()
}

// collect notices who has begun, and checks S5 and S2 for them.
func (w *world) collect() {
	for _, r := range w.reqs {
		if r.phase != "waiting" {
			continue
		}
		select {
		case v := <-r.verdict:
			if !v.OK() {
				r.phase = "refused " + string(v.Reason)
				w.logf("%s is %s", r.name, r.phase)
				continue
			}
		default:
			continue
		}
		for i := range r.touches {
			w.checkDurable(r, &r.touches[i])
		}
		if r.ask {
			r.phase = "done"
			w.logf("%s is answered (ask)", r.name)
			w.noteAnswer(r)
			continue
		}
		r.phase, r.slot = "begun", "open"
		w.logf("%s begins", r.name)
	}
}

// apply lets the upstream take up one write that it has, possibly one that
// everybody has given up.
func (w *world) apply() {
	var can []*simRequest
	for _, r := range w.reqs {
		if r.slot == "open" || r.slot == "abandoned" && time.Now().Before(r.end) {
			can = append(can, r)
		}
	}
	if len(can) == 0 {
		return
	}
	r := can[w.rng.IntN(len(can))]
	w.effect(r)
	if r.slot == "open" {
		r.slot = "applied"
	} else {
		r.slot = "gone"
	}
}

func (w *world) done() {
	var can []*simRequest
	for _, r := range w.reqs {
		if r.phase == "begun" {
			can = append(can, r)
		}
	}
	if len(can) == 0 {
		return
	}
	r := can[w.rng.IntN(len(can))]
	r.phase = "done"
	cut := false
	if r.stream {
		cut = isOvertaken(r.permit)
	}
	switch n := w.rng.IntN(4); {
	case n == 0 && r.slot == "open" && !cut:
		r.slot = "gone"
		w.logf("%s was not sent", r.name)
		r.permit.Done(NotSent)
	case n == 1 || cut:
		w.logf("%s is uncertain", r.name)
		w.abandon(r)
		r.permit.Done(Uncertain)
	default:
		w.logf("%s is definite", r.name)
		r.slot = "gone"
		w.noteAnswer(r)
		r.permit.Done(Definite)
	}
}

func (w *world) abandon(r *simRequest) {
	if r.slot == "open" {
		r.slot, r.end = "abandoned", time.Now().Add(simSettle)
	} else {
		r.slot = "gone"
	}
}

func (w *world) clientLeaves() {
	for _, r := range w.reqs {
		if r.phase == "waiting" && w.rng.IntN(3) == 0 {
			w.logf("%s's client leaves", r.name)
			r.leave()
			return
		}
	}
}

func (w *world) endCommit(err error) {
	select {
	case w.commit <- err:
		w.logf("commit ends: %v", err)
	default:
	}
}

// crash is kill −9: requests are lost, the upstream keeps what it has for the
// settle time, and a commit in progress is on disk or not.
func (w *world) crash() {
	w.logf("CRASH")
	if w.rng.IntN(2) == 0 {
		w.endCommit(nil)
		synctest.Wait()
		w.collect() // what it let begin before the kill
	}
	w.ledger.meta.Clean = false
	w.replace()
}

// stop is an orderly stop whose drain time is short.
func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(w.rng.IntN(2))*time.Second)
	defer cancel()
	for _, r := range w.reqs {
		if r.phase == "begun" && w.rng.IntN(2) == 0 {
			r.phase = "done"
			w.logf("%s is definite", r.name)
			r.slot = "gone"
			w.noteAnswer(r)
			r.permit.Done(Definite)
		}
	}
	go func() { // the disk works
		for {
			select {
			case w.commit <- nil:
			case <-w.dead:
				return
			}
		}
	}()
	err := w.gate.Stop(ctx)
	synctest.Wait()
	w.collect()
	w.logf("stop: clean=%v %v", *w.ledger.closed, err)
	w.ledger.closed = nil
	w.replace()
}

// replace ends one run of the gate and starts the next.
func (w *world) replace() {
	old := w.gate
	w.life()
	close(w.dead)
	synctest.Wait()
	w.collect()
	for _, r := range w.reqs {
		if r.phase == "begun" {
			r.phase = "lost"
			w.abandon(r)
		}
	}
	old.settleTimer.Stop()
	if old.holdTimer != nil {
		old.holdTimer.Stop()
	}
	w.start()
}

// windDown ends everything and checks that nothing is stuck or left.
func (w *world) windDown() {
	go func() {
		for {
			select {
			case w.commit <- nil:
			case <-w.dead:
				return
			}
		}
	}()
	for range 100 {
		synctest.Wait()
		w.collect()
		if !slices.ContainsFunc(w.reqs, func(r *simRequest) bool { return r.phase == "begun" || r.phase == "waiting" }) {
			break
		}
		w.done()
		time.Sleep(time.Second)
	}
	time.Sleep(2 * simSettle)
	synctest.Wait()
	w.collect()
	for _, r := range w.reqs {
		if r.phase == "waiting" || r.phase == "refused busy" {
			w.fail("stuck: %s is still %q", r.name, r.phase)
		}
	}
	s := w.gate.State()
	if s.Begun != 0 || s.Waiting != 0 || s.Settling != 0 {
		w.fail("left over: %+v", s)
	}
	for path, n := range w.gate.nodes.all {
		if n.active != 0 || n.trees != 0 || len(n.fences) != 0 || n.busy != 0 || n.waiting.first != nil || len(n.watchers) != 0 {
			w.fail("left over at %s: %+v", path, n)
		}
	}
	if s.Failed == nil {
		for path, n := range w.gate.nodes.all {
			if n.mark.pending != nil || n.floor.pending != nil {
				w.fail("%s was raised but never committed", path)
			}
		}
		if s.Paths > w.gate.opts.CacheSize {
			w.fail("%d paths in memory, %d allowed", s.Paths, w.gate.opts.CacheSize)
		}
	}
	w.life()
	close(w.dead)
	w.gate.settleTimer.Stop()
	if w.gate.holdTimer != nil {
		w.gate.holdTimer.Stop()
	}
}
