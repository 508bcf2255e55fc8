package lockclient

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// fakeClock is the system's clocks, each with jumps that tests make.
type fakeClock struct {
	mu   sync.Mutex
	jump struct{ mono, wall, boot time.Duration }
}

func (f *fakeClock) now() instant {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := systemClock{}.now()
	return instant{i.mono + f.jump.mono, i.wall.Add(f.jump.wall), i.boot + f.jump.boot}
}

func (f *fakeClock) advance(mono, wall, boot time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jump.mono += mono
	f.jump.wall += wall
	f.jump.boot += boot
}

func TestLeaseArithmetic(t *testing.T) {
	sent := instant{mono: time.Hour, wall: time.Unix(1e9, 0), boot: 2 * time.Hour}
	at := func(mono, wall, boot time.Duration) instant {
		return instant{sent.mono + mono, sent.wall.Add(wall), sent.boot + boot}
	}
	for _, tc := range []struct {
		name string
		ttl  time.Duration
		now  instant
		left time.Duration
	}{
		{"fresh", 15 * time.Second, sent, 14848 * time.Millisecond},
		{"smallest TTL", 100 * time.Millisecond, sent, 97 * time.Millisecond},
		{"all clocks agree", 10 * time.Second, at(time.Second, time.Second, time.Second), 8898 * time.Millisecond},
		{"suspended", 10 * time.Second, at(time.Second, time.Second, 5*time.Second), 4898 * time.Millisecond},
		{"wall clock set forward", 10 * time.Second, at(time.Second, 5*time.Second, time.Second), 4898 * time.Millisecond},
		{"wall clock set back", 10 * time.Second, at(time.Second, -time.Hour, time.Second), 8898 * time.Millisecond},
		{"no boot clock", 10 * time.Second, instant{sent.mono + time.Second, sent.wall, 0}, 8898 * time.Millisecond},
		{"over", 10 * time.Second, at(9898*time.Millisecond, 0, 0), 0},
		{"long over", 10 * time.Second, at(time.Hour, 0, 0), 0},
	} {
		if got := newLease(sent, tc.ttl).left(tc.now); got != tc.left {
			t.Errorf("%s: %v left, want %v", tc.name, got, tc.left)
		}
	}
}

func TestSystemClocksAdvanceTogether(t *testing.T) {
	start := systemClock{}.now()
	if start.boot <= 0 && bootClockKnown {
		t.Error("no boot time")
	}
	if d := (systemClock{}).now().since(start); d < 0 || d > time.Minute {
		t.Errorf("%v passed between two readings", d)
	}
}

// Whatever clock sees the time pass, the lease is over before any timer fires.
func TestLeaseIsOverAfterASuspension(t *testing.T) {
	const m = time.Minute
	for name, jump := range map[string][3]time.Duration{
		"paused process": {m, m, m}, "suspended machine": {0, m, m}, "boot clock only": {0, 0, m}, "wall clock only": {0, m, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			c := s.client()
			clock := &fakeClock{}
			c.clock = clock
			l := mustLock(t, c, "/r")
			clock.advance(jump[0], jump[1], jump[2])
			if l.Remaining() != 0 {
				t.Errorf("%v remaining", l.Remaining())
			}
			var lost *LostError
			if err := l.Err(); !errors.As(err, &lost) || lost.Reason != Expired || !errors.Is(err, ErrLost) {
				t.Errorf("got %v", err)
			}
			within(t, time.Second, l.Lost(), "lost")
		})
	}
}

// Boot time is read where another clock does not show that nothing has happened.
func TestBootTimeIsReadWhenItMatters(t *testing.T) {
	var boot time.Duration
	reads := 0
	b := bootClock{read: func() time.Duration { reads++; return boot }}
	i := instant{mono: time.Hour, wall: processStart.Round(0).Add(time.Hour)}
	pass := func(mono, wall, slept time.Duration) {
		i.mono += mono
		i.wall = i.wall.Add(wall)
		boot += mono + slept
	}
	boot = 7 * time.Hour
	const ms = time.Millisecond
	for _, tc := range []struct {
		name              string
		mono, wall, slept time.Duration
		read              bool
	}{
		{"first", 0, 0, 0, true},
		{"running", 10 * ms, 10 * ms, 0, false},
		{"suspended", 10 * ms, 10*ms + time.Minute, time.Minute, true},
		{"suspended for a millisecond", ms, 2 * ms, ms, true},
		{"wall clock set back", ms, -time.Hour, 0, true},
		{"running", 500 * ms, 500 * ms, 0, false},
		{"suspended, and the wall clock set back by as much", 500 * ms, 500 * ms, time.Minute, true},
		{"running", 999 * ms, 999 * ms, 0, false},
		{"for a second", ms, ms, 0, true},
	} {
		pass(tc.mono, tc.wall, tc.slept)
		before := reads
		if got := b.at(i); got != boot {
			t.Errorf("%s: %v, want %v", tc.name, got, boot)
		}
		if read := reads > before; read != tc.read {
			t.Errorf("%s: read: %v, want %v", tc.name, read, tc.read)
		}
	}
	unknown := bootClock{read: func() time.Duration { return 0 }}
	for range 2 {
		if got := unknown.at(i); got != 0 {
			t.Errorf("unknown: %v", got)
		}
		i.mono += ms
		i.wall = i.wall.Add(ms)
	}
}
