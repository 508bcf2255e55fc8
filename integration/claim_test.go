package integration

import (
	"testing"
	"time"

	"fencegate/fence"
)

// B has the lock but has not written yet. Shown: S2 claim. Without it A could
// write between B's reading and B's writing.
func TestClaimCutsOffTheOldHolder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a, b := s.holder("host-a/1", time.Second, "time"), s.holder("host-b/2", time.Second, "time")

	a.lock(report)
	a.does("put from A", "201")
	a.Pause()
	s.awaitFree(report)
	b.lock(report)
	isMarked(t, s.fence, report, fence.Stamp{Token: b.token, Owner: b.owner, Client: b.name}, "mark")
	a.Resume()
	a.does("put from A, late", "412 stale_token "+b.token.String())
	holds(t, s.fence, report, "from A")
	b.does("put from B", "204")
	a.does("put from A, later still", "412 stale_token "+b.token.String())
	holds(t, s.fence, report, "from B")
}

// The holder before has given its lock back: nothing of it is left to cut off,
// and its stamp is worth nothing any more.
func TestClaimAfterAnOrderlyRelease(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a, b := s.holder("host-a/1", time.Minute, "plain"), s.holder("host-b/2", time.Minute, "plain")

	a.lock(report)
	a.does("send from A", "201")
	b.Send("lock " + report) // waits
	a.does("unlock", "unlocked")
	b.awaitLocked()
	if b.token != a.token+1 {
		t.Errorf("tokens %s and %s do not follow one another", a.token, b.token)
	}
	a.does("put from A, late", "412 stale_token "+b.token.String())
	holds(t, s.fence, report, "from A")
}
