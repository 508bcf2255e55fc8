package fence

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestExplorerReplay takes ways through the explorer's scenes, and goes them
// with a real gate. Wherever the gate has a choice the rules follow it, if they
// allow that; all else must agree after each step: who waits, who has begun,
// who is refused and why, what is committed and what is on disk.
//
// Some ways are the shortest to states evenly chosen. Those all do first what
// can be done first, so that others wander, each with a seed of its own.
func TestExplorerReplay(t *testing.T) {
	shortest, wandering := 16, 120
	if soak() {
		shortest, wandering = 160, 6000
	}
	went, skipped := 0, 0
	for _, sc := range explorerScenes(false) {
		t.Run(sc.name, func(t *testing.T) {
			x, _, links := searched(sc)
			var ways [][]event
			for k := range shortest {
				ways = append(ways, x.way(links, uint32((k+1)*(len(links)-1)/shortest)))
			}
			for k := range wandering {
				ways = append(ways, x.wander(rand.New(rand.NewPCG(uint64(k), 1))))
			}
			// All in one bubble, because the race detector keeps 100 KB for each.
			synctest.Test(t, func(t *testing.T) {
				for k, way := range ways {
					r := &replay{t: t, explorer: x, way: way}
					r.run()
					went, skipped = went+r.went, skipped+r.skipped
					if synctest.Wait(); t.Failed() {
						t.Fatalf("on way %d", k)
					}
				}
			})
		})
	}
	t.Logf("%d steps, and %d that the gate's choices had made impossible", went, skipped)
	if went < 4*skipped {
		t.Error("too few of them were gone")
	}
}

// wander goes where chance leads, but through few of the steps that leave
// nothing to do.
func (x *explorer) wander(rng *rand.Rand) []event {
	var way []event
	s := x.first()
	for range 60 {
		var steps []event
		var states []state
		x.next(&s, func(e event, n *state, _ string) {
			switch e.kind {
			case evCrash, evCrashKept, evDrain, evFailLost, evFailKept, evLeave:
				if rng.IntN(10) > 0 {
					return
				}
			}
			steps, states = append(steps, e), append(states, *n)
		})
		if len(steps) == 0 {
			break
		}
		k := rng.IntN(len(steps))
		way, s = append(way, steps[k]), states[k]
	}
	return way
}

// replay is one way, with the state that the rules say the gate is in.
type replay struct {
	*explorer
	t             *testing.T
	way           []event
	at            int
	went, skipped int

	s       state
	gate    *Gate
	ledger  *heldLedger
	rows    *fakeLedger
	life    context.CancelFunc // ends all requests of this run
	ctx     context.Context
	limit   context.CancelFunc // ends the drain
	permits [maxRequests]*Permit
	verdict [maxRequests]chan Verdict // Begin's, while it is awaited
	leave   [maxRequests]context.CancelFunc
	due     [maxRequests]time.Time // of entries
	holdDue time.Time
}

// heldLedger is a fakeLedger whose commits end when and how the test says.
type heldLedger struct {
	*fakeLedger
	batch []Row // of the commit in progress
	ends  chan commitEnd
	dead  chan struct{}
}

type commitEnd struct {
	kept bool
	err  error
}

func (l *heldLedger) Commit(ctx context.Context, rows []Row) error {
	l.batch = slices.Clone(rows)
	select {
	case <-l.dead:
		return errors.New("the process is dead")
	case end := <-l.ends:
		l.batch = nil
		if end.kept {
			if err := l.fakeLedger.Commit(ctx, rows); err != nil {
				return err
			}
		}
		return end.err
	}
}

func (r *replay) run() {
	r.rows = newFakeLedger()
	r.rows.meta.Clean, r.rows.meta.Global = !r.unclean, r.global
	for _, row := range r.before {
		r.rows.put(row.Kind, row.Path.Key(), row.Token, row.Owner)
	}
	r.s = r.first()
	r.start()
	defer r.kill()
	for r.at = range r.way {
		if r.t.Failed() {
			return
		}
		r.do(r.way[r.at])
	}
}

// fail tells where the gate and the rules differ, and how it came to that.
func (r *replay) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Errorf(format, args...)
	if len(r.way) > 0 {
		r.t.Logf("after\n%s", r.tell(r.way[:r.at+1]))
	}
}

// take makes a step by the rules, and reports whether they allow it.
func (r *replay) take(e event) bool {
	ok := false
	var then state
	r.next(&r.s, func(by event, n *state, breach string) {
		if by == e && breach == "" {
			then, ok = *n, true
		}
	})
	if ok {
		r.s = then
	}
	return ok
}

// do goes one step of the way, first by the rules and then with the gate.
func (r *replay) do(e event) {
	switch e.kind {
	case evBegin, evCommit:
		return // the gate does so by itself
	case evExpire:
		if r.s.phase[e.request] == settling && r.s.up && !r.s.stopped {
			r.passUntil(r.due[e.request])
			r.went++
		}
		return
	case evHoldEnds:
		if r.s.hold > 0 && !r.s.stopped {
			r.passUntil(r.holdDue)
			r.went++
		}
		return
	case evUncertain: // no two entries end at once
		if r.s.up && r.permits[e.request] != nil {
			r.passUntil(time.Now().Add(time.Millisecond))
		}
	}
	before := r.s
	if !r.take(e) {
		r.skipped++
		return
	}
	r.went++
	r.withGate(e, &before)
	r.agree(&before)
}

// withGate makes the gate go a step.
func (r *replay) withGate(e event, before *state) {
	i := int(e.request)
	switch e.kind {
	case evArrive:
		r.arrives(i, before)
	case evUploaded:
		r.begins(i)
	case evLeave:
		if r.leave[i] == nil {
			r.permits[i].Withdraw()
			r.permits[i] = nil
			return
		}
		r.leave[i]()
		synctest.Wait()
		if v := <-r.verdict[i]; v.Reason != ClientGone {
			r.fail("%s's client left: %q", r.requests[i].name, v.Reason)
		}
		r.forget(i)
	case evDefinite:
		r.permits[i].Done(Definite)
	case evNotSent:
		r.permits[i].Done(NotSent)
	case evUncertain:
		r.due[i] = time.Now().Add(r.settleOf(&r.s))
		r.permits[i].Done(Uncertain)
	case evCommitOK:
		r.ledger.ends <- commitEnd{kept: true}
	case evFailLost, evFailKept:
		r.ledger.ends <- commitEnd{kept: e.kind == evFailKept, err: errors.New("I/O error")}
	case evCrash, evExit:
		r.kill()
	case evCrashKept:
		if err := r.rows.Commit(r.ctx, r.ledger.batch); err != nil {
			r.t.Error(err)
		}
		r.kill()
	case evRestart:
		r.start()
	case evDrain:
		var ctx context.Context
		ctx, r.limit = context.WithCancel(context.Background())
		go r.gate.Drain(ctx)
	case evStop:
		r.limit()
	case evClose:
		if err := r.gate.Stop(r.ctx); err != nil {
			r.fail("stop: %v", err)
		}
		if *r.rows.closed != r.s.clean {
			r.fail("stopped clean=%v, by the rules %v", *r.rows.closed, r.s.clean)
		}
		r.rows.closed = nil
	}
}

func (r *replay) arrives(i int, before *state) {
	q := &r.requests[i]
	p, v := r.gate.Arrive(r.ctx, Request{Touches: q.touches, Ask: q.ask, Stream: q.stream})
	want := r.arrival(before.pend, i).reason
	switch {
	case q.enforced && before.failed:
		want = LedgerUnavailable
	case before.draining:
		want = Draining
	}
	if v.Reason != want || (p != nil) != (want == Passed) {
		r.fail("%s arrives: %q, by the rules %q", q.name, v.Reason, want)
		return
	}
	if r.permits[i] = p; p != nil && (q.ask || q.stream) {
		r.begins(i)
	}
}

func (r *replay) begins(i int) {
	ctx, cancel := context.WithCancel(r.ctx)
	p, verdict := r.permits[i], make(chan Verdict, 1)
	r.verdict[i], r.leave[i] = verdict, cancel
	go func() { verdict <- p.Begin(ctx) }()
}

func (r *replay) forget(i int) {
	r.permits[i], r.verdict[i], r.leave[i] = nil, nil, nil
}

func (r *replay) start() {
	r.ctx, r.life = context.WithCancel(context.Background())
	r.ledger = &heldLedger{fakeLedger: r.rows, ends: make(chan commitEnd), dead: make(chan struct{})}
	gate, err := Start(r.ctx, r.ledger, Options{Settle: r.settleOf(&r.s), MaxWait: 1000 * time.Hour, CacheSize: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	r.gate = gate
	r.holdDue = time.Now().Add(time.Duration(r.s.hold) * unit)
}

// kill ends a run of the gate, as the end of its process would.
func (r *replay) kill() {
	if r.gate == nil {
		return
	}
	r.life()
	if r.limit != nil {
		r.limit()
	}
	close(r.ledger.dead)
	synctest.Wait()
	r.gate.settleTimer.Stop()
	if r.gate.holdTimer != nil {
		r.gate.holdTimer.Stop()
	}
	for i := range r.permits {
		r.forget(i)
	}
	r.gate, r.limit = nil, nil
}

// passUntil lets time pass, and what it ends happen on the way.
func (r *replay) passUntil(end time.Time) {
	for {
		next, e := end, event{}
		if r.s.hold > 0 && !r.s.stopped && !r.holdDue.After(next) {
			next, e = r.holdDue, event{kind: evHoldEnds}
		}
		for i := range r.requests {
			if r.s.phase[i] == settling && !r.s.stopped && !r.due[i].After(next) {
				next, e = r.due[i], event{evExpire, uint8(i)}
			}
		}
		if e.kind == evStart {
			time.Sleep(time.Until(next))
			return
		}
		time.Sleep(time.Until(next) - time.Nanosecond)
		synctest.Wait()
		r.compare() // not a moment too early
		time.Sleep(time.Nanosecond)
		before := r.s
		if !r.take(e) {
			r.fail("time brings what the rules do not allow: %s", eventTexts[e.kind])
			return
		}
		r.agree(&before)
	}
}
