package fence

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Gate decides who may write upstream now. It applies the rules of decide.go to
// the rows of a ledger and the requests in flight, all under one lock that is
// never held across I/O, and makes requests wait for their turn.
//
// A Gate may be used from many goroutines.
type Gate struct {
	ledger Ledger
	opts   Options

	mu       sync.Mutex
	nodes    nodes
	global   Token
	failed   error // the ledger's, for good
	draining bool  // no arrivals
	stopped  bool  // nothing begins any more
	holdEnd  time.Time
	holding  bool

	waiting  permits // not begun
	active   permits // begun
	settling permits // entries, in order of their end
	begun    int
	entries  int
	waiters  int

	dirty      []*cell // pending above durable, not in the running commit
	inCommit   []*cell
	committing bool
	committed  sync.WaitGroup
	candidates []*Permit // scratch

	settleTimer *time.Timer
	holdTimer   *time.Timer
	reading     sync.WaitGroup // look-ups in the ledger
	stopping    chan struct{}  // closed when stopped
	quiet       chan struct{}  // closed when draining and nothing is in flight
	isQuiet     bool
}

// Options of a gate. Zero values are replaced by the defaults named.
type Options struct {
	// Settle is how long a write whose outcome is uncertain may still take
	// effect upstream. 0 suits storage whose writes die with the process.
	Settle time.Duration
	// MaxWait limits how long a request waits to begin. Default: Settle + 15 s.
	MaxWait time.Duration
	// MaxPermits limits requests in flight and in doubt; more are refused as
	// Busy. Default 65,536.
	MaxPermits int
	// CacheSize limits the paths kept in memory; those in use may exceed it.
	// Default 32,768.
	CacheSize int
	// OnCommit, if set, is told of every call of the ledger's Commit. It must
	// not call the gate.
	OnCommit func(rows int, took time.Duration, err error)
}

// Request is what arrives at the gate.
type Request struct {
	// Touches of the request, judged as one. At least one.
	Touches []Touch
	// Ask: the request must see the fence hold but writes nothing.
	Ask bool
	// Stream: the request begins before its body has arrived, and is cut off
	// by a newer token.
	Stream bool
}

// Start takes a ledger into use and returns its gate. After an unclean stop
// nothing enforced begins until the settle time of the last run, or of this
// one if longer, has passed.
func Start(ctx context.Context, ledger Ledger, opts Options) (*Gate, error) {
	if opts.MaxWait == 0 {
		opts.MaxWait = opts.Settle + 15*time.Second
	}
	if opts.MaxPermits == 0 {
		opts.MaxPermits = 65_536
	}
	if opts.CacheSize == 0 {
		opts.CacheSize = 32_768
	}
	meta, err := ledger.Start(ctx, opts.Settle)
	if err != nil {
		return nil, fmt.Errorf("starting the ledger: %w", err)
	}
	g := &Gate{
		ledger: ledger, opts: opts, global: meta.Global,
		stopping: make(chan struct{}), quiet: make(chan struct{}),
	}
	g.nodes.init(opts.CacheSize)
	g.settleTimer = time.AfterFunc(time.Hour, g.settleDue)
	g.settleTimer.Stop()
	if hold := holdAfter(meta, opts.Settle); hold > 0 {
		g.holding, g.holdEnd = true, time.Now().Add(hold)
		g.holdTimer = time.AfterFunc(hold, g.holdOver)
	}
	return g, nil
}

// Arrive judges a request by its headers. It returns a permit, to be ended by
// Begin (and Done) or Withdraw, or the verdict that refuses the request; never
// both. Judging and raising is one step over all touches: a refused request
// has changed nothing. ctx limits the look-up of rows only.
func (g *Gate) Arrive(ctx context.Context, r Request) (*Permit, Verdict) {
	p := &Permit{gate: g, ask: r.Ask, stream: r.Stream, touches: make([]held, len(r.Touches))}
	if r.Stream {
		p.cut = make(chan struct{})
	}
	for i, t := range r.Touches {
		if t.Policy == Open {
			t.Stamp = Stamp{} // its number is not judged, so it means nothing
		}
		p.touches[i] = held{Touch: t, permit: p}
		p.enforced = p.enforced || t.Policy.Enforced()
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.admits(p); !v.OK() {
		return nil, v
	}
	for i := range p.touches {
		h := &p.touches[i]
		h.fence, h.object = g.nodes.hold(h.Fence), g.nodes.hold(h.Object)
		if h.Tree && h.Policy != Open {
			g.watchBelow(h)
		}
	}
	err := g.lookUp(ctx, p)
	v := g.admits(p)
	if v.OK() && err != nil {
		v = Verdict{Reason: LedgerUnavailable, Err: err}
		if !p.enforced {
			p.observed, v = v, Verdict{}
		}
	}
	if v.OK() && err == nil {
		v = g.judgeAndRaise(p)
	}
	if !v.OK() {
		for i := range p.touches {
			p.touches[i].unwatch()
		}
		g.releaseNodes(p)
		return nil, v
	}
	for i := range p.touches {
		p.touches[i].register()
	}
	g.waiting.add(p)
	g.waiters++
	switch {
	case !p.enforced:
		g.begin(p)
	case p.ask || p.stream:
		p.phase = ready
	}
	return p, Verdict{}
}

// admits refuses what may not even arrive.
func (g *Gate) admits(p *Permit) Verdict {
	switch {
	case p.enforced && g.failed != nil:
		return Verdict{Reason: LedgerUnavailable, Err: g.failed}
	case g.draining:
		return Verdict{Reason: Draining}
	case g.waiters+g.begun+g.entries >= g.opts.MaxPermits:
		return Verdict{Reason: Busy}
	}
	return Verdict{}
}

// judgeAndRaise is the one atomic step of an arrival.
func (g *Gate) judgeAndRaise(p *Permit) Verdict {
	var buf [16]*Row
	note := func(i int, v Verdict) bool {
		v.Touch = i
		if p.touches[i].Policy.Enforced() {
			p.verdict = v
			return false
		}
		if p.observed.OK() {
			p.observed = v
		}
		return true
	}
	for i := range p.touches {
		h := &p.touches[i]
		s := h.sight(g.global, false, buf[:])
		if v := judge(&h.Touch, &s); !v.OK() && !note(i, v) {
			return p.verdict
		}
	}
	if len(p.touches) > 1 {
		touches := make([]Touch, len(p.touches))
		for i := range p.touches {
			touches[i] = p.touches[i].Touch
		}
		if v := judgeSiblings(touches); !v.OK() && !note(v.Touch, v) {
			return p.verdict
		}
	}
	now := time.Now()
	for i := range p.touches {
		h := &p.touches[i]
		s := h.sight(g.global, false, buf[:])
		if !covered(&h.Touch, &s) && (h.Policy.Enforced() || judge(&h.Touch, &s).OK()) {
			g.raise(h, now)
		}
	}
	g.kickCommit()
	return Verdict{}
}

// raise makes the touch's row pending and tells everyone whom it overtakes.
func (g *Gate) raise(h *held, now time.Time) {
	c := h.cell()
	row := Row{Key: c.durable.Key, Token: h.Token, Owner: h.Owner, Client: h.Client, Since: now}
	if c.pending == nil {
		h.fence.refs++ // until the row is durable
		g.dirty = append(g.dirty, c)
	}
	c.pending = &row
	for n := h.fence.parent; n != nil; n = n.parent {
		for _, w := range n.watchers {
			w.below.add(&w.Touch, row)
		}
	}
	for _, p := range g.around(h.fence, row.Kind == Floor) {
		g.overtake(p)
	}
}

// around collects the waiting permits that a change at n can concern, each
// once, in order of arrival at their nodes. The result is valid until the next
// call.
func (g *Gate) around(n *node, tree bool) []*Permit {
	g.candidates = g.candidates[:0]
	n.around(tree, func(h *held) {
		if k := len(g.candidates); k == 0 || g.candidates[k-1] != h.permit {
			g.candidates = append(g.candidates, h.permit)
		}
	})
	return g.candidates
}

// overtake ends a waiting permit that no longer passes, and cuts a begun
// stream. Other begun writes are left alone: cutting a connection does not undo
// a write.
func (g *Gate) overtake(p *Permit) {
	if p.phase > begun || p.phase == begun && (!p.stream || p.isCut) {
		return
	}
	v := g.judge(p)
	if v.OK() {
		return
	}
	if p.phase == begun {
		p.isCut = true
		close(p.cut)
		return
	}
	p.verdict = v
	g.end(p)
}

// judge judges a permit by the pending rows of now.
func (g *Gate) judge(p *Permit) Verdict {
	if !p.enforced {
		return Verdict{}
	}
	var buf [16]*Row
	for i := range p.touches {
		h := &p.touches[i]
		if !h.Policy.Enforced() {
			continue
		}
		s := h.sight(g.global, false, buf[:])
		if v := judge(&h.Touch, &s); !v.OK() {
			v.Touch = i
			return v
		}
	}
	return Verdict{}
}

// tryBegin lets a permit begin if everything allows it.
func (g *Gate) tryBegin(p *Permit) {
	if p.phase != ready || missing(g.standing(p)) != Passed {
		return
	}
	if v := g.judge(p); !v.OK() {
		p.verdict = v
		g.end(p)
		return
	}
	g.begin(p)
}

// begin turns a permit into a begun one, or lets an ask through.
func (g *Gate) begin(p *Permit) {
	if p.ask {
		g.end(p)
		return
	}
	g.waiting.remove(p)
	g.waiters--
	g.active.add(p)
	g.begun++
	p.phase = begun
	for i := range p.touches {
		p.touches[i].activate(p.stream)
	}
	p.tell()
}

// end takes a permit that has not begun out of the gate.
func (g *Gate) end(p *Permit) {
	g.waiting.remove(p)
	g.waiters--
	p.phase = over
	g.unregister(p)
	if p.stream && !p.isCut {
		p.isCut = true
		close(p.cut)
	}
	p.tell()
	g.checkQuiet()
}

// settle takes a permit whose write can no longer take effect out of the gate,
// and lets those begin that waited for it.
func (g *Gate) settle(p *Permit) {
	p.phase = over
	for i := range p.touches {
		p.touches[i].deactivate()
		p.touches[i].leaveQueues()
	}
	for i := range p.touches {
		h := &p.touches[i]
		g.wake(g.around(h.object, h.Tree))
		if h.fence != h.object || h.floors() != h.Tree {
			g.wake(g.around(h.fence, h.floors()))
		}
	}
	g.unregister(p)
}

func (g *Gate) wake(candidates []*Permit) {
	for _, p := range candidates {
		g.tryBegin(p)
	}
}

func (g *Gate) unregister(p *Permit) {
	for i := range p.touches {
		p.touches[i].unregister()
	}
	g.releaseNodes(p)
}

func (g *Gate) releaseNodes(p *Permit) {
	for i := range p.touches {
		g.nodes.release(p.touches[i].object)
		g.nodes.release(p.touches[i].fence)
	}
}

// tell wakes whoever waits for the permit to move.
func (p *Permit) tell() {
	if p.moved != nil {
		close(p.moved)
	}
}

// standing gathers what decides whether p may begin.
func (g *Gate) standing(p *Permit) standing {
	s := standing{failed: g.failed != nil, stopped: g.stopped, holding: g.holding, covered: true}
	var buf [16]*Row
	for i := range p.touches {
		h := &p.touches[i]
		if h.Policy.Enforced() {
			durable := h.sight(g.global, true, buf[:])
			s.covered = s.covered && covered(&h.Touch, &durable)
		}
		s.begun = s.begun || h.blocked()
	}
	return s
}

// giveUp says what a waiting permit lacked.
func (g *Gate) giveUp(p *Permit) Verdict {
	s := g.standing(p)
	touches := p.plain()
	var end time.Time
	for e := g.settling.first; e != nil; e = e.next {
		if blocks(e.plain(), touches) && e.end.After(end) {
			s.entry, end = true, e.end
		}
	}
	v := Verdict{Reason: missing(s), Err: g.failed}
	switch v.Reason {
	case Passed: // it was granted everything but its turn
		v.Reason = Busy
	case Recovering:
		v.RetryAfter = time.Until(g.holdEnd)
	case Settling:
		v.RetryAfter = time.Until(end)
	}
	return v
}

func (p *Permit) plain() []Touch {
	out := make([]Touch, len(p.touches))
	for i := range p.touches {
		out[i] = p.touches[i].Touch
	}
	return out
}
