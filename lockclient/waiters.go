package lockclient

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// waiters shares one subscription among all of a client's waiters for one
// lock. They queue in the order in which they came, and a message wakes the
// first: waking all would send as many scripts as there are waiters for each
// release. While the lock is free, the first has a wake-up that it has not
// used, is trying, or tries again at its back-off.
type waiters struct {
	mu   sync.Mutex
	subs map[string]*subscription // by channel
}

type subscription struct {
	end       context.CancelFunc
	quorum    int    // how many nodes count as all
	up        []bool // by node: subscribed
	freed     []bool // by node: has told of a release since the last wake-up
	confirmed bool   // a quorum is subscribed
	queue     []*waiter
}

// waiter is one Lock call in a subscription's queue. woken holds a value when
// the lock may have become free.
type waiter struct {
	hub     *waiters
	sub     *subscription
	channel string
	woken   chan struct{}
	first   chan struct{} // closed once it is the first in the queue
}

// join queues a waiter, subscribing if it is the first, which is woken once the
// subscription stands: a release before that moment sends it no message. Whoever
// joins a queue later has missed nothing that did not wake the first.
func (h *waiters) join(c *Client, channel string) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.subs[channel]
	if s == nil {
		ctx, end := context.WithCancel(context.Background())
		all := c.nodes.list()
		s = &subscription{end: end, quorum: c.nodes.quorum(), up: make([]bool, len(all)), freed: make([]bool, len(all))}
		if h.subs == nil {
			h.subs = make(map[string]*subscription)
		}
		h.subs[channel] = s
		for _, n := range all {
			c.work.run(func() { h.listen(ctx, n, s, channel) })
		}
	}
	w := &waiter{hub: h, sub: s, channel: channel, woken: make(chan struct{}, 1), first: make(chan struct{})}
	s.queue = append(s.queue, w)
	if len(s.queue) == 1 {
		close(w.first)
	}
	return w
}

// leave takes a waiter out. Unless it has acquired the lock, the next takes its
// place in looking whether the lock is free; the last one out ends the
// subscription.
func (w *waiter) leave(acquired bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	was := w.isFirst()
	w.sub.remove(w)
	if len(w.sub.queue) == 0 {
		delete(w.hub.subs, w.channel)
		w.sub.end()
		return
	}
	if !acquired && (was || len(w.woken) > 0) {
		w.sub.queue[0].wake()
	}
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *waiter) isFirst() bool {
	select {
	case <-w.first:
		return true
	default:
		return false
	}
}

// pace is the back-off of a waiter: at its cap where messages tell of releases.
func (w *waiter) pace(n int) time.Duration {
	w.hub.mu.Lock()
	confirmed := w.sub.confirmed
	w.hub.mu.Unlock()
	if confirmed {
		n = max(n, backoffSteps)
	}
	return backoff(n)
}

func (s *subscription) remove(w *waiter) {
	for i, q := range s.queue {
		if q == w {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			if i == 0 && len(s.queue) > 0 {
				close(s.queue[0].first)
			}
			return
		}
	}
}

// listen holds the subscription to one node until ctx ends. Where it fails, the
// first waiter still polls at its back-off.
func (h *waiters) listen(ctx context.Context, n *node, s *subscription, channel string) {
	ps := n.rdb.Subscribe(ctx, channel)
	// Receive ends only when the connection is closed.
	defer context.AfterFunc(ctx, func() { _ = ps.Close() })()
	defer func() { _ = ps.Close() }()
	for try := 0; ctx.Err() == nil; {
		msg, err := ps.Receive(ctx)
		if err != nil {
			h.subscribed(s, n.index, false)
			pause(ctx, backoff(try))
			try++
			continue
		}
		try = 0
		switch msg.(type) {
		case *redis.Subscription:
			h.subscribed(s, n.index, true)
		case *redis.Message:
			h.released(s, n.index)
		}
	}
}

// subscribed wakes the first waiter when a quorum has come to stand: messages
// may have been missed.
func (h *waiters) subscribed(s *subscription, node int, up bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.up[node] = up
	before := s.confirmed
	s.confirmed = count(s.up) >= s.quorum
	if up && s.confirmed && (!before || s.quorum == 1) && len(s.queue) > 0 {
		s.queue[0].wake()
	}
}

// released counts the nodes that are free, and with a quorum of them wakes the
// first waiter that has not been woken yet.
func (h *waiters) released(s *subscription, node int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.freed[node] = true
	if count(s.freed) < s.quorum {
		return
	}
	clear(s.freed)
	for _, w := range s.queue {
		if len(w.woken) == 0 {
			w.wake()
			return
		}
	}
}

func count(set []bool) int {
	n := 0
	for _, b := range set {
		if b {
			n++
		}
	}
	return n
}
