package lockclient

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// waiters shares one subscription among all of a client's waiters for one
// lock. A message wakes the one that has waited longest: waking all would send
// as many scripts as there are waiters for each release.
type waiters struct {
	mu   sync.Mutex
	subs map[string]*subscription // by channel
}

type subscription struct {
	end       context.CancelFunc
	confirmed bool
	queue     []*waiter
}

// waiter is one Lock call in a subscription's queue. woken holds a value when
// the lock may have become free.
type waiter struct {
	hub     *waiters
	sub     *subscription
	channel string
	woken   chan struct{}
}

// join queues a waiter, subscribing if it is the first. It is woken once the
// subscription stands: a release before that moment sends it no message.
func (h *waiters) join(c *Client, channel string) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.subs[channel]
	if s == nil {
		ctx, end := context.WithCancel(context.Background())
		s = &subscription{end: end}
		if h.subs == nil {
			h.subs = make(map[string]*subscription)
		}
		h.subs[channel] = s
		c.work.run(func() { h.listen(ctx, c, s, channel) })
	}
	w := &waiter{hub: h, sub: s, channel: channel, woken: make(chan struct{}, 1)}
	s.queue = append(s.queue, w)
	if s.confirmed {
		w.wake()
	}
	return w
}

// leave takes a waiter out. A wake-up that it has not used goes to the next;
// the last one out ends the subscription. acquired tells that the wake-up was
// used even if another arrived since.
func (w *waiter) leave(acquired bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.sub.remove(w)
	if len(w.sub.queue) == 0 {
		delete(w.hub.subs, w.channel)
		w.sub.end()
		return
	}
	select {
	case <-w.woken:
		if !acquired {
			w.sub.queue[0].wake()
		}
	default:
	}
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (s *subscription) remove(w *waiter) {
	for i, q := range s.queue {
		if q == w {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			return
		}
	}
}

// listen holds the subscription until ctx ends. Where it fails, waiters still
// poll at their back-off.
func (h *waiters) listen(ctx context.Context, c *Client, s *subscription, channel string) {
	ps := c.rdb.Subscribe(ctx, channel)
	// Receive ends only when the connection is closed.
	defer context.AfterFunc(ctx, func() { _ = ps.Close() })()
	defer func() { _ = ps.Close() }()
	for n := 0; ctx.Err() == nil; {
		msg, err := ps.Receive(ctx)
		if err != nil {
			h.unconfirm(s)
			pause(ctx, backoff(n))
			n++
			continue
		}
		n = 0
		switch msg.(type) {
		case *redis.Subscription:
			h.confirm(s)
		case *redis.Message:
			h.wakeFirst(s)
		}
	}
}

// confirm wakes every waiter: any of them may have missed a message.
func (h *waiters) confirm(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.confirmed = true
	for _, w := range s.queue {
		w.wake()
	}
}

func (h *waiters) unconfirm(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.confirmed = false
}

func (h *waiters) wakeFirst(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range s.queue {
		if len(w.woken) == 0 {
			w.wake()
			return
		}
	}
}
