package lockclient

import (
	"sync"
	"time"
)

// keepers starts the keeper of each of a client's locks when there is something
// to look after. Most locks are given back before that, and one timer for all is
// set far less often than one for each: that wakes a thread almost every time.
type keepers struct {
	mu    sync.Mutex
	first *shared // a list of those that wait, linked by shared.next and prev
	timer *time.Timer
	set   bool      // timer is to fire at at, or has and is about to get mu
	at    time.Time // not after any that waits is due
}

// add starts s.keep after d, unless remove is called before.
func (k *keepers) add(s *shared, d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.due, s.next = time.Now().Add(d), k.first
	if s.next != nil {
		s.next.prev = s
	}
	k.first, s.waits = s, true
	k.arm(s.due)
}

// arm has the timer fire at t or before.
func (k *keepers) arm(t time.Time) {
	if k.set && !k.at.After(t) {
		return
	}
	k.set, k.at = true, t
	if k.timer == nil {
		k.timer = time.AfterFunc(time.Until(t), k.fire)
	} else {
		k.timer.Reset(time.Until(t))
	}
}

// remove reports whether it came before keep was started.
func (k *keepers) remove(s *shared) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unlink(s)
}

func (k *keepers) unlink(s *shared) bool {
	if !s.waits {
		return false
	}
	s.waits = false
	if s.next != nil {
		s.next.prev = s.prev
	}
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		k.first = s.next
	}
	s.next, s.prev = nil, nil
	return true
}

// fire starts those that are due, and comes again for the others. A timer that
// fires where none waits is not set again.
func (k *keepers) fire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set = false
	now := time.Now()
	for s := k.first; s != nil; {
		next := s.next
		if s.due.After(now) {
			k.arm(s.due)
		} else {
			k.unlink(s)
			go s.keep()
		}
		s = next
	}
}
