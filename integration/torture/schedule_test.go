package torture

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// schedule is what goes wrong when, and is mended when. All of it is done by
// the test's own goroutine, one after the other.
type schedule struct {
	w      *world
	events []event
	begin  time.Time
}

type event struct {
	at time.Duration
	do func()
}

// fault is something that goes wrong again and again, on average once in every.
// It mends what it broke by a later event, or the world does in the end.
type fault struct {
	name   string
	every  time.Duration
	strike func(w *world, s *schedule, random *rand.Rand)
}

func newSchedule(w *world) *schedule {
	s := &schedule{w: w, begin: time.Now()}
	for _, f := range faults {
		s.again(f, w.random(f.name))
	}
	return s
}

// again plans the next strike of f, each fault with numbers of its own so that
// one does not shift the others.
func (s *schedule) again(f fault, random *rand.Rand) {
	s.after(f.every/4+upTo(random, f.every*3/2), func() {
		s.w.counts.add(f.name)
		f.strike(s.w, s, random)
		s.again(f, random)
	})
}

// after plans something for later.
func (s *schedule) after(d time.Duration, do func()) {
	e := event{time.Since(s.begin) + d, do}
	at, _ := slices.BinarySearchFunc(s.events, e, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	s.events = slices.Insert(s.events, at, e)
}

// run does what comes until d has passed.
func (s *schedule) run(d time.Duration) {
	for len(s.events) > 0 && s.events[0].at < d && !s.w.t.Failed() {
		e := s.events[0]
		s.events = s.events[1:]
		time.Sleep(e.at - time.Since(s.begin))
		e.do()
	}
	time.Sleep(d - time.Since(s.begin))
}
