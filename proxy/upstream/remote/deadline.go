package remote

import (
	"errors"
	"os"
	"time"
)

// soon is how long an exchange goes on before it is worth while to be told that
// nobody waits for it any more.
const soon = 10 * time.Millisecond

// term is when reads and writes of a socket end. To tell the poller costs more
// than to look, so it is told of an end only if it knows of none that is as
// early: where it ends a wait before its time, the wait is begun anew.
type term struct {
	end   time.Time // of the present request; zero: never
	armed time.Time // what the poller knows; never later than end; zero: never
	late  bool      // socket.late is to be called when it is look
	look  time.Time
}

// until has reads and writes end at end, with os.ErrDeadlineExceeded; zero:
// never. With watch the socket's late is called once, by a Read that waits, when
// that has been so for a short time.
func (s *socket) until(end time.Time, watch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.term
	t.end, t.late = end, watch
	if watch {
		t.look = time.Now().Add(soon)
	}
	if next := t.next(); !next.IsZero() && (t.armed.IsZero() || next.Before(t.armed)) {
		s.arm(next)
	}
}

// next is when the poller has to speak up.
func (t *term) next() time.Time {
	if t.late && (t.end.IsZero() || t.look.Before(t.end)) {
		return t.look
	}
	return t.end
}

// arm is called under mu. It reports whether it could.
func (s *socket) arm(at time.Time) bool {
	s.term.armed = at
	return s.tcp.SetDeadline(at) == nil // else what is done next shows why
}

// again reports whether a read or write that failed with err has to be tried
// again, because there is time left. The reader of the socket says so.
func (s *socket) again(err error, reader bool) bool {
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	s.mu.Lock()
	t, now := &s.term, time.Now()
	if !t.end.IsZero() && !now.Before(t.end) {
		s.mu.Unlock()
		return false
	}
	late := false
	if t.late && !now.Before(t.look) {
		late, t.late = reader, !reader
		t.look = now.Add(soon)
	}
	armed := s.arm(t.next())
	s.mu.Unlock()
	if late {
		s.late()
	}
	return armed
}
