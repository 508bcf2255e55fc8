package lockclient

import (
	"sync"
	"time"
)

// fakeClock is the system's clock plus jumps.
type fakeClock struct {
	mu                 sync.Mutex
	mono, wall, asleep time.Duration
}

func (f *fakeClock) now() instant {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := systemClock{}.now()
	i.time = i.time.Add(f.mono)
	i.boot += f.mono + f.asleep
	return i
}

// suspend passes time that only the boot clock sees.
func (f *fakeClock) suspend(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asleep += d
}
