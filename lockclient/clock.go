package lockclient

import (
	"sync/atomic"
	"time"
)

// clock tells how much time has passed on this machine. Tests bring their own.
type clock interface {
	now() instant
}

// instant is one moment on all clocks at hand. None alone can be trusted: the
// monotonic clock stands still while the machine is suspended, the wall clock
// can be set back, and boot time exists on Linux only.
type instant struct {
	mono time.Duration // since the start of the process
	wall time.Time
	boot time.Duration // since boot, with suspension; 0 where unknown
}

// since returns the largest time that any clock has seen pass since start, so
// that a lease can end too early but never too late.
func (i instant) since(start instant) time.Duration {
	return max(i.mono-start.mono, i.wall.Sub(start.wall), i.boot-start.boot)
}

type systemClock struct{}

var processStart = time.Now()

func (systemClock) now() instant {
	now := time.Now()
	// Round strips the monotonic reading, so that Sub compares wall clocks.
	i := instant{now.Sub(processStart), now.Round(0), 0}
	i.boot = boots.at(i)
	return i
}

var boots = bootClock{read: bootTime}

// bootClock tells boot time, for which read takes a system call that costs more
// than the other clocks together. A suspension sets the wall clock ahead of the
// monotonic one by as long as it took. Where they have kept their distance there
// was none, unless somebody set the wall clock back by just as much; that is found
// out within a second of running time, since then boot time is read in any case.
type bootClock struct {
	read func() time.Duration // 0 where unknown
	last atomic.Pointer[reading]
}

// reading is what boot time was at a moment.
type reading struct {
	instant
	apart time.Duration // how far the wall clock was ahead of the monotonic one
}

const (
	bootReadAfter = time.Second
	bootApart     = 100 * time.Microsecond
)

func (b *bootClock) at(i instant) time.Duration {
	apart := i.wall.Sub(processStart) - i.mono
	last := b.last.Load()
	if last == nil || i.mono-last.mono >= bootReadAfter || (apart-last.apart).Abs() >= bootApart {
		i.boot = b.read()
		b.last.Store(&reading{i, apart})
		return i.boot
	}
	if last.boot == 0 {
		return 0
	}
	return last.boot + i.mono - last.mono
}

// lease is what is locally known of the time for which Redis keeps the lock.
type lease struct {
	sent  instant // before the first byte of the call that succeeded
	valid time.Duration
}

// newLease counts from the first send, the earliest moment at which Redis can
// have started the TTL, and takes off 1 % + 2 ms: the margin for the rate at
// which two machines' clocks run apart and for Redis' millisecond steps (the
// drift allowance of the Redlock description, redis.io/docs/latest/develop/
// clients/patterns/distributed-locks).
func newLease(sent instant, ttl time.Duration) lease {
	return lease{sent, ttl - ttl/100 - 2*time.Millisecond}
}

// left returns how long the lease still holds at now, 0 when it is over.
func (l lease) left(now instant) time.Duration {
	return max(0, l.valid-now.since(l.sent))
}

// deadline is when the lease ends by the wall clock.
func (l lease) deadline() time.Time { return l.sent.wall.Add(l.valid) }
