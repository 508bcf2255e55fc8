package fence

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"
)

type simRequest struct {
	name    string
	touches []Touch
	ask     bool
	stream  bool
	permit  *Permit
	verdict chan Verdict // Begin's
	phase   string       // waiting, begun, done, refused, lost
	ctx     context.Context
	leave   context.CancelFunc
	// slot is the write at the upstream: open until applied or done; abandoned
	// when nobody waits for it any more, and then possible until end.
	slot string
	end  time.Time
}

// touch makes a random touch over a small tree: /d with /d/f and /d/g below,
// /e, a fence: tree at /t with the objects /t/1 and /t/2, and within it a
// fence: tree of its own at /t/n with /t/n/1.
func (w *world) touch(stamp Stamp, policy Policy) Touch {
	object := ResourceOf(w.objects[w.rng.IntN(len(w.objects))])
	t := Touch{Fence: object, Object: object, Policy: policy, Stamp: stamp}
	for _, root := range []string{"/t/n", "/t"} {
		if ResourceOf(root).Covers(object) {
			t.Fence, t.FenceTree = ResourceOf(root), true
			break
		}
	}
	t.Tree = w.rng.IntN(4) == 0
	return t
}

func (w *world) stamp() Stamp {
	owners := []Owner{"a", "b", "b", NoOwner}
	s := Stamp{Token: Token(1 + w.rng.IntN(4)), Owner: owners[w.rng.IntN(len(owners))]}
	if w.rng.IntN(8) == 0 {
		s = Stamp{}
	}
	return s
}

func (w *world) arrive() {
	if w.gate == nil {
		return
	}
	policy := []Policy{Require, Adopt}[w.rng.IntN(2)]
	r := &simRequest{name: fmt.Sprintf("r%d", w.count), ask: w.rng.IntN(5) == 0, stream: w.rng.IntN(6) == 0}
	w.count++
	r.touches = []Touch{w.touch(w.stamp(), policy)}
	for w.rng.IntN(5) == 0 {
		s := r.touches[0].Stamp
		if w.rng.IntN(2) == 0 {
			s = w.stamp()
		}
		r.touches = append(r.touches, w.touch(s, policy))
	}
	r.stream = r.stream && !r.ask
	if len(r.touches) == 1 && !r.touches[0].Tree && !r.ask && w.rng.IntN(10) == 0 {
		r.touches[0].Passive, r.stream = true, false
	}
	if r.ask && r.touches[0].Token == NoToken {
		return
	}
	if w.rng.IntN(3) == 0 { // something else happens while it looks up rows
		meanwhile := func() {
			w.ledger.onBelow, w.ledger.onRead = nil, nil
			if w.rng.IntN(3) > 0 {
				w.arrive()
			}
			synctest.Wait()
			w.endCommit(nil)
			synctest.Wait()
		}
		w.ledger.onBelow, w.ledger.onRead = meanwhile, meanwhile
	}
	p, v := w.gate.Arrive(w.ctx, Request{Touches: r.touches, Ask: r.ask, Stream: r.stream})
	w.ledger.onBelow, w.ledger.onRead = nil, nil
	w.logf("%s arrives %s ask=%v stream=%v: %q", r.name, showTouches(r.touches), r.ask, r.stream, v.Reason)
	if p == nil {
		return
	}
	r.permit, r.phase = p, "waiting"
	r.ctx, r.leave = context.WithCancel(w.ctx)
	w.reqs = append(w.reqs, r)
	r.verdict = make(chan Verdict, 1)
	go func() { r.verdict <- p.Begin(r.ctx) }()
}

func showTouches(touches []Touch) string {
	var out []string
	for _, t := range touches {
		flags := ""
		for _, f := range []struct {
			on   bool
			text string
		}{{t.Tree, "/**"}, {t.FenceTree, " fence:tree"}, {t.Passive, " passive"}} {
			if f.on {
				flags += f.text
			}
		}
		out = append(out, fmt.Sprintf("%s%s(%d,%q,%s)", t.Object, flags, t.Token, string(t.Owner), t.Policy))
	}
	return fmt.Sprint(out)
}

// simRun is the ledger as one run of the gate has it: commits end when the test
// says so, and after a crash none reaches the disk any more.
type simRun struct {
	*fakeLedger
	commit chan error
	dead   chan struct{}
}

func (r *simRun) Commit(ctx context.Context, rows []Row) error {
	select {
	case <-r.dead:
		return errors.New("the process is dead")
	default:
	}
	select {
	case <-r.dead:
		return errors.New("the process is dead")
	case err := <-r.commit:
		if err != nil {
			return err
		}
	}
	return r.fakeLedger.Commit(ctx, rows)
}
