package remote

import (
	"context"
	"slices"
	"time"
)

// maxIdle is how many unused connections are kept.
const maxIdle = 256

// pool is the connections of a store, guarded by its mu.
type pool struct {
	all  map[*conn]struct{}
	idle []*conn // the latest used last; none is being read or written
	// reaper closes connections that were idle for too long. It is one for all,
	// and runs while it has some to wait for.
	reaper  *time.Timer
	reaping bool
}

// own takes charge of a new connection: Close cuts it. It reports false after
// Close.
func (u *Remote) own(c *conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		u.pool.all[c] = struct{}{}
	}
	return !u.closed
}

// connect returns a connection for m: the one used last, whose peer
// is the least likely to have given it up, or a new one.
func (u *Remote) connect(ctx context.Context, m *message) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, u.explain(ctx, err)
	}
	if c := u.takeIdle(); c != nil {
		c.bind(ctx, m, true)
		return c, nil
	}
	dialing := ctx
	if !m.end.IsZero() {
		var cancel context.CancelFunc
		dialing, cancel = context.WithDeadline(ctx, m.end)
		defer cancel()
	}
	c, err := u.dial(dialing)
	if err != nil {
		return nil, err
	}
	c.bind(ctx, m, false)
	return c, nil
}

func (u *Remote) takeIdle() *conn {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.pool.idle) - 1
	if n < 0 || time.Since(u.pool.idle[n].idle) >= u.opts.Idle {
		return nil // those before have been idle for longer; the reaper comes soon
	}
	c := u.pool.idle[n]
	u.pool.idle[n] = nil
	u.pool.idle = u.pool.idle[:n]
	return c
}

// finish keeps a connection whose request is over for the next one, if it is
// good for that, and else drops it. It may not be used any more.
func (u *Remote) finish(c *conn, m *message, status int, end ending) {
	if u.opts.Idle > 0 && c.clean(m, status, end) && c.release() {
		u.keep(c)
	} else {
		u.drop(c)
	}
}

// keep makes c available to the next request. Without room, or after Close, it is cut.
func (u *Remote) keep(c *conn) {
	if cap(c.head) > 64<<10 {
		c.head = nil
	}
	c.exchange, c.asked.Method = exchange{}, "" // which may be a piece of a whole head
	u.mu.Lock()
	full := u.closed || len(u.pool.idle) >= maxIdle
	if !full {
		c.idle = time.Now()
		u.pool.idle = append(u.pool.idle, c)
		if !u.pool.reaping {
			u.pool.reaping = true
			u.wakeReaper(u.opts.Idle)
		}
	}
	u.mu.Unlock()
	if full {
		u.drop(c)
	}
}

// drop cuts a connection and gives up charge of it. It returns what kept its
// request from being sent whole.
func (u *Remote) drop(c *conn) error {
	err := c.end()
	u.mu.Lock()
	delete(u.pool.all, c)
	u.mu.Unlock()
	return err
}

// wakeReaper is called under mu.
func (u *Remote) wakeReaper(in time.Duration) {
	if u.pool.reaper == nil {
		u.pool.reaper = time.AfterFunc(in, u.reap)
		return
	}
	u.pool.reaper.Reset(in)
}

func (u *Remote) reap() {
	u.mu.Lock()
	n, now := 0, time.Now()
	for n < len(u.pool.idle) && now.Sub(u.pool.idle[n].idle) >= u.opts.Idle {
		n++
	}
	old := slices.Clone(u.pool.idle[:n])
	u.pool.idle = slices.Delete(u.pool.idle, 0, n)
	u.pool.reaping = len(u.pool.idle) > 0 && !u.closed
	if u.pool.reaping {
		u.wakeReaper(u.opts.Idle - now.Sub(u.pool.idle[0].idle))
	}
	u.mu.Unlock()
	for _, c := range old {
		u.drop(c)
	}
}

// cutAll ends all connections. It is called once, by Close.
func (u *Remote) cutAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.pool.all {
		c.cut() // those of requests are dropped by them
	}
	u.pool.idle = nil
	if u.pool.reaper != nil {
		u.pool.reaper.Stop()
	}
}
