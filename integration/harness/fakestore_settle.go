package harness

import (
	"net"
	"time"
)

// settleLook is how often a connection is looked at while an effect that has to
// settle is delayed.
const settleLook = time.Millisecond

// Behind says that the store's connections come over this line: which of them
// are still there is asked for on the line's other side.
func (s *FakeStore) Behind(l *Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = l
}

// look notes when the connection was last seen, and reports whether it is
// still there. The kernel knows that at once, on the loopback interface, however
// late this process gets its turn.
func (x *exchange) look() bool {
	now := Monotonic()
	there := x.lineOf().reaches(x.conn)
	if there {
		x.last = now
	}
	return there
}

func (x *exchange) lineOf() *Line {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	return x.store.line
}

// mayStill reports whether an effect at this time is one that the plan's Settle
// allows.
func (x *exchange) mayStill(line *Line, now time.Duration) bool {
	return x.plan.Settle <= 0 || line.reaches(x.conn) || now < x.last+x.plan.Settle
}

// pass waits, looking at the connection if it matters.
func (x *exchange) pass(d time.Duration) bool {
	if x.plan.Settle <= 0 {
		return x.store.pass(d)
	}
	for end := Monotonic() + d; Monotonic() < end; {
		x.look()
		if !x.store.pass(settleLook) {
			return false
		}
	}
	return true
}

// reaches reports whether the client of this connection still has it. Without a
// line the connection is the client's own.
func (l *Line) reaches(server *net.TCPConn) bool {
	if l == nil {
		return isOpen(server)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.calls {
		c.mu.Lock()
		client := c.client
		found := c.server != nil && c.server.LocalAddr().String() == server.RemoteAddr().String()
		c.mu.Unlock()
		if found {
			return isOpen(client)
		}
	}
	return false
}
