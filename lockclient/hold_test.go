package lockclient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// However well renewals go, the lease ends, and Redis frees the lock then too.
func TestMaxHold(t *testing.T) {
	for name, tc := range map[string]struct{ ttl, hold time.Duration }{
		"several TTLs":    {300 * time.Millisecond, 800 * time.Millisecond},
		"less than a TTL": {time.Hour, 400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			c := s.client(WithTTL(tc.ttl), WithMaxHold(tc.hold))
			begin := time.Now()
			l := mustLock(t, c, "/r")
			within(t, 20*tc.hold, l.Lost(), "lost")
			took := time.Since(begin)
			if took > tc.hold+200*time.Millisecond || took < tc.hold*9/10 {
				t.Errorf("it was held for %v, want just below %v", took, tc.hold)
			}
			var lost *LostError
			if err := context.Cause(l.Context()); !errors.As(err, &lost) || lost.Reason != Expired || !errors.Is(err, ErrMaxHold) ||
				!strings.Contains(err.Error(), tc.hold.String()) {
				t.Errorf("cause %v", err)
			}
			next := must(s.client().Lock(t.Context(), "/r"))
			if late := time.Since(begin) - tc.hold; late > 2*time.Second {
				t.Errorf("free %v late", late)
			}
			if err := l.Unlock(t.Context()); !errors.Is(err, ErrLeaseExpired) || !errors.Is(err, ErrMaxHold) {
				t.Error(err)
			}
			if err := next.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// One failed renewal does not end it early, and a short hold is not cut.
func TestMaxHoldOutlastsAFailedRenewal(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r", WithTTL(2*time.Second), WithMaxHold(time.Minute))
	s.freeze()
	eventually(t, 5*time.Second, "a renewal fails", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.renewErr != nil
	})
	s.thaw()
	if err := l.Err(); err != nil {
		t.Error(err)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
