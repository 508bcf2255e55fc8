package lockclient

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	backoffBase = 10 * time.Millisecond
	backoffCap  = time.Second
	// backoffSteps is the try from which the cap holds: 10 ms << 7 is above it.
	backoffSteps = 7
)

// backoff returns how long to wait before try n+1: evenly spread ("full
// jitter") between 10 ms and a bound that doubles up to 1 s, so that clients
// which failed together do not come back together.
func backoff(n int) time.Duration {
	bound := backoffCap
	if n < backoffSteps {
		bound = backoffBase << n
	}
	return backoffBase + rand.N(bound-backoffBase+1)
}

// untilExpiry shortens a back-off to the moment at which the holder's key
// expires in left: if the holder is dead, that is the first chance. left is
// not positive where Redis knows of no expiry.
func untilExpiry(delay, left time.Duration) time.Duration {
	if left <= 0 {
		return delay
	}
	return min(delay, max(left+time.Millisecond, backoffBase))
}

// renewAfter spreads renewals over TTL/3 ± 10 %.
func renewAfter(ttl time.Duration) time.Duration {
	third := ttl / 3
	return third - third/10 + rand.N(third/5)
}

// pause waits for d and reports whether ctx lasted that long.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
