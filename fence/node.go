package fence

import (
	"strings"
	"time"
)

// node is one path in the gate's memory: its rows, and who is waiting or active
// there. Nodes form a tree, so that what stands in a request's way is found by
// walking up to the root and, for trees only, down the busy part below; never
// by looking at all permits. All fields are guarded by the gate's lock.
type node struct {
	path   Resource
	parent *node

	// Children that are in memory, for walking down.
	child, prevSibling, nextSibling *node

	mark, floor cell

	// refs counts touches and children that need the node. Without any it is
	// idle and kept only as a cache of its rows.
	refs               int
	prevIdle, nextIdle *node

	waiting  queue       // touches with fence or object here that have not begun, and begun streams
	watchers []*held     // tree touches with their fence here, not begun
	active   int         // active touches whose object is here
	trees    int         // of those, how many change everything below too
	fences   []fenceLoad // active touches whose fence is here, by token
	busy     int         // touches registered strictly below
}

// cell is one row in memory.
type cell struct {
	loaded  bool
	durable Row
	pending *Row // nil when the same as durable
}

// row returns what requests are judged by.
func (c *cell) row() *Row {
	if c.pending != nil {
		return c.pending
	}
	return &c.durable
}

// raise sets what is pending and returns it. The node may stay in memory for long,
// and what a stamp says may be a piece of a whole request, so it is copied, owner
// and client at once.
func (c *cell) raise(s *Stamp, now time.Time) Row {
	var text strings.Builder
	text.Grow(len(s.Owner) + len(s.Client))
	text.WriteString(string(s.Owner))
	text.WriteString(s.Client)
	owner, client := text.String()[:len(s.Owner)], text.String()[len(s.Owner):]
	*c.pending = Row{Key: c.durable.Key, Token: s.Token, Owner: Owner(owner), Client: client, Since: now}
	return *c.pending
}

// fenceLoad counts active touches of one token under a fence: all, and those
// whose region is the whole tree below.
type fenceLoad struct {
	token      Token
	all, trees int
}

// held is a touch on its way: where it is registered and what it waits for.
type held struct {
	Touch
	permit        *passage
	fence, object *node
	below         below // kept up to date while the touch is among watchers
	atFence       place
	atObject      place
}

// cell returns the row that the touch raises.
func (h *held) cell() *cell {
	if h.floors() {
		return &h.fence.floor
	}
	return &h.fence.mark
}

// register makes the touch findable from the nodes around it.
func (h *held) register() {
	h.fence.lift(+1)
	h.fence.waiting.add(&h.atFence, h)
	if h.object != h.fence {
		h.object.lift(+1)
		h.object.waiting.add(&h.atObject, h)
	}
}

// activate turns a registered touch from one that waits into one that others
// wait for.
func (h *held) activate(stream bool) {
	if !stream {
		h.leaveQueues()
	}
	h.unwatch()
	h.object.active++
	if h.Tree {
		h.object.trees++
	}
	h.fence.load(h.Token, h.floors(), +1)
}

func (h *held) deactivate() {
	h.object.active--
	if h.Tree {
		h.object.trees--
	}
	h.fence.load(h.Token, h.floors(), -1)
}

func (h *held) leaveQueues() {
	h.fence.waiting.remove(&h.atFence)
	h.object.waiting.remove(&h.atObject)
}

// unregister ends what register began.
func (h *held) unregister() {
	h.leaveQueues()
	h.unwatch()
	h.fence.lift(-1)
	if h.object != h.fence {
		h.object.lift(-1)
	}
}

// watch has the touch told of every row that rises below its fence.
func (h *held) watch() { h.fence.watchers = append(h.fence.watchers, h) }

func (h *held) unwatch() {
	for i, w := range h.fence.watchers {
		if w == h {
			h.fence.watchers = append(h.fence.watchers[:i], h.fence.watchers[i+1:]...)
			return
		}
	}
}

// sight gathers what the touch sees; dur selects durable rows instead of
// pending ones. The result is valid until the next call.
func (g *Gate) sight(h *held, dur bool) sight {
	pick := func(c *cell) *Row {
		if dur {
			return &c.durable
		}
		return c.row()
	}
	g.sighted = append(g.sighted[:0], pick(&h.fence.mark))
	for n := h.fence; n != nil; n = n.parent {
		g.sighted = append(g.sighted, pick(&n.floor))
	}
	return sight{global: g.global, above: g.sighted, below: h.below}
}

// blocked reports whether an active touch is in the way of h. It is blocks,
// answered from the counters around h's nodes.
func (h *held) blocked() bool {
	o := h.object
	if o.active > 0 || h.Tree && o.anyBelow(func(n *node) bool { return n.active > 0 }) {
		return true
	}
	for n := o.parent; n != nil; n = n.parent {
		if n.trees > 0 {
			return true
		}
	}
	if h.Token == NoToken { // no token is lower
		return false
	}
	f := h.fence
	lower := func(n *node) bool { return n.loaded(h.Token, false) }
	if lower(f) || h.floors() && f.anyBelow(lower) {
		return true
	}
	for n := f.parent; n != nil; n = n.parent {
		if n.loaded(h.Token, true) {
			return true
		}
	}
	return false
}

// load counts an active touch under the fence at n in or out.
func (n *node) load(t Token, tree bool, by int) {
	i := 0
	for i < len(n.fences) && n.fences[i].token != t {
		i++
	}
	if i == len(n.fences) {
		n.fences = append(n.fences, fenceLoad{token: t})
	}
	n.fences[i].all += by
	if tree {
		n.fences[i].trees += by
	}
	if n.fences[i].all == 0 {
		n.fences[i] = n.fences[len(n.fences)-1]
		n.fences = n.fences[:len(n.fences)-1]
	}
}

// loaded reports whether a touch with a token below t is active under the
// fence at n; with treesOnly, one whose region is the whole tree.
func (n *node) loaded(t Token, treesOnly bool) bool {
	for i := range n.fences {
		if n.fences[i].token < t && (!treesOnly || n.fences[i].trees > 0) {
			return true
		}
	}
	return false
}

// lift tells the ancestors that one more, or one fewer, touch is below them.
func (n *node) lift(by int) {
	for a := n.parent; a != nil; a = a.parent {
		a.busy += by
	}
}

// anyBelow reports whether f holds for a node strictly below n.
func (n *node) anyBelow(f func(*node) bool) bool {
	if n.busy == 0 {
		return false
	}
	for c := n.child; c != nil; c = c.nextSibling {
		if f(c) || c.anyBelow(f) {
			return true
		}
	}
	return false
}

// around calls f for every waiting touch that a change at n can concern: those
// at n, those above whose region is a tree, and those below if tree is set.
func (n *node) around(tree bool, f func(*held)) {
	n.waiting.each(f)
	for a := n.parent; a != nil; a = a.parent {
		a.waiting.each(func(h *held) {
			if h.floors() {
				f(h)
			}
		})
	}
	if tree {
		n.anyBelow(func(c *node) bool { c.waiting.each(f); return false })
	}
}
