package harness

import (
	"net"
	"sync"
	"testing"
	"time"
)

// A Line is a network between clients and one server, over TCP, with faults
// that a test switches on and off. Bytes, the end of a direction and resets pass
// through it as they are. Faults hold for open and for new connections until
// they are taken back.
type Line struct {
	t       testing.TB
	target  string
	addr    string
	running sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while it refuses
	calls    map[*call]bool
	faults   [2]fault
	hole     bool
	over     bool
	changed  chan struct{} // closed and replaced when a fault changes
}

// Direction is one of a Line's two; Both are both.
type Direction uint8

const (
	Up   Direction = 1 << iota // from clients to the server
	Down                       // from the server to clients
	Both = Up | Down
)

// fault is what is wrong with one direction.
type fault struct {
	stalled  bool
	rate     int64 // bytes per second; 0: no limit
	delay    time.Duration
	cutAfter int64 // bytes of each connection; < 0: never
}

// NewLine lays a line from a free port of the loopback interface to target, a
// host:port. It ends with the test.
func NewLine(t testing.TB, target string) *Line {
	t.Helper()
	l := &Line{t: t, target: target, calls: map[*call]bool{}, changed: make(chan struct{})}
	l.faults = [2]fault{{cutAfter: -1}, {cutAfter: -1}}
	if err := l.listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

// Addr returns the host:port that clients use, URL the same with http://.
func (l *Line) Addr() string { return l.addr }
func (l *Line) URL() string  { return "http://" + l.addr }

// Cut resets all connections. New ones are served.
func (l *Line) Cut() { l.each((*call).reset) }

// Refuse resets all connections and has the kernel refuse new ones, as for a
// server that is not there, until Accept.
func (l *Line) Refuse() {
	l.mu.Lock()
	if l.listener != nil {
		l.listener.Close()
		l.listener = nil
	}
	l.mu.Unlock()
	l.Cut()
}

// Accept undoes Refuse, at the same address.
func (l *Line) Accept() {
	l.t.Helper()
	Eventually(l.t, "the line to get its port again", func() (any, bool) {
		err := l.listen(l.addr)
		return err, err == nil
	})
}

// Stall stops all bytes in these directions; none is lost. Resume lets them
// go on.
func (l *Line) Stall(d Direction)  { l.set(d, func(f *fault) { f.stalled = true }) }
func (l *Line) Resume(d Direction) { l.set(d, func(f *fault) { f.stalled = false }) }

// Rate lets so many bytes per second pass in these directions of each
// connection, 0 any number.
func (l *Line) Rate(d Direction, bytesPerSecond int64) {
	l.set(d, func(f *fault) { f.rate = bytesPerSecond })
}

// Delay has each piece, of 32 KiB at most, take so long in these directions.
func (l *Line) Delay(d Direction, delay time.Duration) { l.set(d, func(f *fault) { f.delay = delay }) }

// CutAfter resets a connection as soon as so many bytes have passed in one of
// these directions since it was opened; below 0 never.
func (l *Line) CutAfter(d Direction, bytes int64) { l.set(d, func(f *fault) { f.cutAfter = bytes }) }

// HalfClose ends these directions of all open connections, in order. What is
// still sent in them vanishes.
func (l *Line) HalfClose(d Direction) {
	l.each(func(c *call) {
		for i, way := range c.ways {
			if d&(1<<i) != 0 {
				way.end()
			}
		}
	})
}

// BlackHole has everything vanish that is sent from now on: connections stay,
// new ones are taken, nothing gets through, and no end or reset is told either.
// Mend ends that: connections that lost something are reset.
func (l *Line) BlackHole() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hole = true
	l.wake()
}

func (l *Line) Mend() {
	l.mu.Lock()
	l.hole = false
	l.wake()
	l.mu.Unlock()
	l.each(func(c *call) {
		if c.lost.Load() {
			c.reset()
		}
	})
}

// Connections returns how many are open.
func (l *Line) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

func (l *Line) set(d Direction, change func(*fault)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.faults {
		if d&(1<<i) != 0 {
			change(&l.faults[i])
		}
	}
	l.wake()
}

// wake is called under mu.
func (l *Line) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// now returns the faults of a direction, and a channel that is closed when they
// change.
func (l *Line) now(i int) (f fault, hole bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.faults[i], l.hole, l.changed
}

func (l *Line) each(do func(*call)) {
	l.mu.Lock()
	var calls []*call
	for c := range l.calls {
		calls = append(calls, c)
	}
	l.mu.Unlock()
	for _, c := range calls {
		do(c)
	}
}

func (l *Line) listen(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener, l.addr = listener, listener.Addr().String()
	l.running.Go(func() { l.take(listener) })
	return nil
}

func (l *Line) close() {
	l.mu.Lock()
	l.over = true
	if l.listener != nil {
		l.listener.Close()
	}
	l.mu.Unlock()
	l.each((*call).reset)
	l.running.Wait()
}

// take serves what comes until the listener is closed.
func (l *Line) take(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		c := newCall(l, conn.(*net.TCPConn))
		l.mu.Lock()
		gone := l.over || l.listener != listener
		if !gone {
			l.calls[c] = true
			l.running.Go(c.run)
		}
		l.mu.Unlock()
		if gone {
			c.reset()
		}
	}
}
