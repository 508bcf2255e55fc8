package front

import (
	"errors"
	"os"
	"sync"
	"time"
)

// deadline is that of one direction of a connection. Each change of a socket's
// deadline changes a timer, and most are never waited for: so the socket is told
// when something is about to wait, and not at all if it has an earlier one,
// which then proves to be too early and is put right.
type deadline struct {
	set func(time.Time) error // on the socket

	mu     sync.Mutex
	wanted time.Time // zero: none
	armed  time.Time // what the socket has
	busy   int       // how many may be waiting
}

// past is a deadline that interrupts.
var past = time.Unix(1, 0)

// want changes the deadline, also of what is waiting now.
func (d *deadline) want(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if d.busy > 0 && sooner(t, d.armed) {
		return d.arm(t)
	}
	return nil
}

// begin comes before what may wait.
func (d *deadline) begin() {
	d.mu.Lock()
	d.busy++
	if sooner(d.wanted, d.armed) {
		_ = d.arm(d.wanted) // an error shows in what comes now
	}
	d.mu.Unlock()
}

// end comes after it.
func (d *deadline) end() {
	d.mu.Lock()
	d.busy--
	d.mu.Unlock()
}

// early reports whether err is that of a deadline which came too early. The
// socket has the right one then.
func (d *deadline) early(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.IsZero() && !time.Now().Before(d.wanted) {
		return false
	}
	return d.arm(d.wanted) == nil
}

// interrupt ends what is waiting, and whatever waits until allow.
func (d *deadline) interrupt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.arm(past)
}

// allow lets wait without any deadline.
func (d *deadline) allow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.arm(time.Time{})
}

func (d *deadline) arm(t time.Time) error {
	d.armed = t
	return d.set(t)
}

func sooner(t, than time.Time) bool {
	return !t.IsZero() && (than.IsZero() || t.Before(than))
}
