package integration

import (
	"context"
	"testing"
	"time"

	"fencegate/fence"
)

// Redis forgets its counter, or an operator restores an old one. Shown:
// liveness, a new holder gets through nevertheless; and S1, the old one stays
// out.
func TestLocksHealAfterALostCounter(t *testing.T) {
	t.Parallel()
	const hour = fence.Token(time.Hour / time.Microsecond)
	flush := func(s *scene, _ *holder) { s.redis.FlushAll() }
	hourBack := func(s *scene, a *holder) {
		s.awaitFree(report)
		if err := s.rdb.Set(context.Background(), counterKey, (a.token - hour).String(), 0).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, tokens string
		lose         func(*scene, *holder)
	}{
		{"time tokens, flushed", "time", flush},
		{"time tokens, an hour back", "time", hourBack},
		{"plain tokens, flushed", "plain", flush},
		{"plain tokens, an hour back", "plain", hourBack},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			// Plain tokens begin high, so that there is something to lose.
			if err := s.rdb.Set(t.Context(), counterKey, (2 * hour).String(), 0).Err(); err != nil {
				t.Fatal(err)
			}
			a, b := s.holder("host-a/1", time.Second, c.tokens), s.holder("host-b/2", time.Second, c.tokens)
			a.lock(report)
			a.does("put from A", "201")
			a.Pause()
			c.lose(s, a)

			b.lock(report)
			if b.token <= a.token {
				t.Errorf("B holds token %s, which is not above A's %s", b.token, a.token)
			}
			b.does("put from B", "204")
			a.Resume()
			a.does("put from A, late", "412 stale_token "+b.token.String())
			holds(t, s.fence, report, "from B")
			s.countsOn(b)
		})
	}
}

// countsOn checks that the counter is healed too: the next holder needs no
// second claim.
func (s *scene) countsOn(b *holder) {
	s.t.Helper()
	counter, err := s.rdb.Get(context.Background(), counterKey).Uint64()
	if err != nil || fence.Token(counter) < b.token {
		s.t.Errorf("the counter is %d, %v after token %s", counter, err, b.token)
	}
}
