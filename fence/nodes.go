package fence

import "strings"

// nodes holds the paths in memory: those that requests in flight need, and as a
// cache of ledger rows idle ones, up to limit in all. Idle nodes hold only rows that
// are durable, so that dropping one forgets nothing.
type nodes struct {
	all      map[string]*node
	idle     node // head of the ring of idle nodes, most recently used first
	idleSize int
	limit    int
}

func (s *nodes) init(limit int) {
	s.all = make(map[string]*node)
	s.limit = limit
	s.idle.prevIdle, s.idle.nextIdle = &s.idle, &s.idle
}

// hold returns the node of r with one more reference, making it and its
// ancestors as needed.
func (s *nodes) hold(r Resource) *node {
	n, ok := s.all[r.key]
	if !ok {
		// The key may be a piece of a whole request, which is not to be kept. The
		// ancestors' keys are pieces of the copy.
		n = s.make(Resource{strings.Clone(r.key)})
	}
	return s.take(n)
}

func (s *nodes) make(r Resource) *node {
	n := &node{path: r}
	if parent, ok := r.Parent(); ok {
		p, ok := s.all[parent.key]
		if !ok {
			p = s.make(parent)
		}
		n.parent = s.take(p)
		if n.nextSibling = p.child; p.child != nil {
			p.child.prevSibling = n
		}
		p.child = n
	}
	n.mark.durable.Key = Key{Mark, r}
	n.floor.durable.Key = Key{Floor, r}
	s.all[r.key] = n
	return n
}

// take adds a reference.
func (s *nodes) take(n *node) *node {
	if n.refs++; n.refs == 1 && n.nextIdle != nil {
		s.unpark(n)
	}
	return n
}

// park makes a node idle, the most recently used one.
func (s *nodes) park(n *node) {
	n.nextIdle, n.prevIdle = s.idle.nextIdle, &s.idle
	n.nextIdle.prevIdle, s.idle.nextIdle = n, n
	s.idleSize++
}

func (s *nodes) unpark(n *node) {
	n.prevIdle.nextIdle, n.nextIdle.prevIdle = n.nextIdle, n.prevIdle
	n.prevIdle, n.nextIdle = nil, nil
	s.idleSize--
}

// release gives one reference back. A node without any becomes idle, and the
// least recently used idle one is forgotten when there are too many.
func (s *nodes) release(n *node) {
	if n.refs--; n.refs > 0 {
		return
	}
	s.park(n)
	for len(s.all) > s.limit && s.idleSize > 0 {
		s.forget(s.idle.prevIdle)
	}
}

func (s *nodes) forget(n *node) {
	s.unpark(n)
	delete(s.all, n.path.key)
	p := n.parent
	if p == nil {
		return
	}
	if n.prevSibling == nil {
		p.child = n.nextSibling
	} else {
		n.prevSibling.nextSibling = n.nextSibling
	}
	if n.nextSibling != nil {
		n.nextSibling.prevSibling = n.prevSibling
	}
	if p.refs--; p.refs == 0 { // released, without trimming again
		s.park(p)
	}
}
