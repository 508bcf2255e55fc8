package main

import "time"

// pace says when a command has to end if its lease is not renewed. Both count
// back from the end of the lease.
type pace struct {
	term time.Duration
	kill time.Duration // leaves the kernel the time to do it
}

func newPace(ttl, grace time.Duration) pace {
	kill := min(max(ttl/20, 10*time.Millisecond), 500*time.Millisecond)
	return pace{term: max(grace, kill), kill: kill}
}

// step is what a command's processes get next.
type step int

const (
	goOn step = iota
	term
	kill
)

// What is due is looked at this often at least: timers stand still while a
// machine is suspended, the lease does not. While killing it is more often,
// since what a killed process has started shows only then.
const (
	lookEvery = 250 * time.Millisecond
	killEvery = 10 * time.Millisecond
)

// next returns the step that is due when left of the lease remains, and when
// to look again.
func (p pace) next(left time.Duration) (step, time.Duration) {
	switch {
	case left <= p.kill:
		return kill, killEvery
	case left <= p.term:
		return term, min(left-p.kill, lookEvery)
	default:
		return goOn, min(left-p.term, lookEvery)
	}
}
