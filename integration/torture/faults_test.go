package torture

import (
	"math/rand/v2"
	"time"
)

var faults = []fault{
	{"client pauses", 130 * time.Millisecond, pauseWorker},
	{"clients killed", 3 * time.Second, killWorker},
	{"kills", 1600 * time.Millisecond, killFence},
	{"fence pauses", 3 * time.Second, pauseFence},
	{"restarts", 5 * time.Second, restartFence},
	{"redis losses", 2500 * time.Millisecond, loseRedis},
	{"script flushes", 2 * time.Second, flushScripts},
	{"network faults", 1200 * time.Millisecond, func(w *world, s *schedule, r *rand.Rand) { w.toFence.fail(s, r) }},
	{"network faults at the store", 1500 * time.Millisecond, func(w *world, s *schedule, r *rand.Rand) { w.toStore.fail(s, r) }},
	{"network faults at redis", 1500 * time.Millisecond, func(w *world, s *schedule, r *rand.Rand) { w.toRedis.fail(s, r) }},
}

// pauseWorker stops a process of holders for longer than any of its leases.
func pauseWorker(w *world, s *schedule, random *rand.Rand) {
	k := w.workers[random.IntN(len(w.workers))]
	d := longestLease + upTo(random, longestLease)
	if k.stopped {
		w.counts["client pauses"]--
		return
	}
	stopped := k.process
	k.stopped = true
	stopped.Pause()
	s.after(d, func() {
		if k.process == stopped && k.stopped { // else it was killed meanwhile
			k.stopped = false
			stopped.Resume()
		}
	})
}

func killWorker(w *world, _ *schedule, random *rand.Rand) {
	i := random.IntN(len(w.workers))
	w.workers[i].process.Kill()
	w.live(i, w.workers[i])
}

// killFence is kill -9, at any time or when it hurts most, and then a start at
// once. What fencegate had promised to remember must be there: S5, and now and
// then S6.
func killFence(w *world, _ *schedule, random *rand.Rand) {
	trouble, when := random.IntN(6), random.IntN(4)
	killed := false
	if !w.frozen {
		switch when {
		case 0:
			killed = w.springs(atFirstEffect(w.killer()))
		case 1, 2:
			killed = w.springs(beforeLateEffect(w.killer()))
		}
	}
	if killed {
		w.counts.add("kills at a chosen moment")
		w.fence.Process().Wait()
	} else {
		w.fence.Kill()
	}
	w.frozen = false
	if trouble == 0 && w.counts["S6 starts refused"] < 2 {
		w.refusesToStart(random)
	}
	w.fence.Start()
	w.marks.hold(w)
}

func pauseFence(w *world, s *schedule, random *rand.Rand) {
	d := 50*time.Millisecond + upTo(random, 800*time.Millisecond)
	if w.frozen {
		return
	}
	w.frozen = true
	stopped := w.fence.Process()
	w.fence.Pause()
	s.after(d, func() {
		if w.frozen && w.fence.Process() == stopped {
			w.thaw()
		}
	})
}

func (w *world) thaw() {
	if w.frozen {
		w.frozen = false
		w.fence.Resume()
	}
}

// restartFence ends fencegate in order, under all that goes on.
func restartFence(w *world, _ *schedule, _ *rand.Rand) {
	w.thaw()
	if code := w.fence.Stop(); code != 0 {
		w.t.Errorf("TERM ended fencegate with %d", code)
	}
	w.fence.Start()
	w.marks.hold(w)
}

// loseRedis has Redis forget: all, or what came since some time ago, or the
// counter.
func loseRedis(w *world, _ *schedule, random *rand.Rand) {
	ctx, cancel := w.ask()
	defer cancel()
	const counter = "{fencegate}:token"
	var err error
	switch random.IntN(6) {
	case 0:
		w.redis.FlushAll()
	case 1:
		if err = w.rdb.Save(ctx).Err(); err == nil { // to come back to
			w.redis.FlushAll()
		}
	case 2:
		w.redis.Kill()
		w.redis.Restart() // with what was saved last
	case 3:
		if w.redis.FlushAll(); w.rdb.Save(ctx).Err() == nil {
			w.redis.Restart()
		}
	case 4:
		err = w.rdb.Del(ctx, counter).Err()
	case 5:
		err = w.rdb.Set(ctx, counter, 1+random.IntN(50), 0).Err()
	}
	if err != nil {
		w.t.Fatalf("redis: %v", err)
	}
}

func flushScripts(w *world, _ *schedule, _ *rand.Rand) {
	ctx, cancel := w.ask()
	defer cancel()
	if err := w.rdb.ScriptFlush(ctx).Err(); err != nil {
		w.t.Fatalf("redis: %v", err)
	}
}
