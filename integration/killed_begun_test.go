package integration

import (
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// fencegate is killed while the store has A's write but has not carried it out.
// B claims after the restart. Shown: S2 claim and A2 over a kill -9, the claim
// is answered only after the hold, and A's write lands before that or never.
func TestKilledWithABegunWrite(t *testing.T) {
	t.Parallel()
	const settle = 2 * time.Second
	store, s := overFakeStore(t, "--settle", settle.String())
	store.Queue("PUT", report, harness.Plan{UntilGone: true, Delay: settle / 4})
	a := begins(t, s, "PUT", report, stampOf(33, "a"), "from A")
	sees(store, "PUT", report)
	s.Kill()
	killed := harness.Monotonic()
	<-a.done
	if a.err == nil {
		t.Errorf("A is answered %v by a dead process", a.a)
	}
	s.Start()
	claims(t, s, report, stampOf(34, "b")).says("200")
	claimed := harness.Monotonic()
	tookEffect(t, store, "PUT "+report+" from A")
	if held := claimed - killed; held < settle {
		t.Errorf("B's claim is answered %v after the kill, before the hold was over", held)
	}
	says(t, s, "412 stale_token", "PUT", report, stampOf(33, "a"), "from A, again")
	says(t, s, "204", "PUT", report, stampOf(34, "b"), "from B")
	tookEffect(t, store, "PUT "+report+" from A", "PUT "+report+" from B")
}

// fencegate is killed when all of A's write is in the kernel's hands and the
// store has not taken it yet. Shown: A2, the kernel drops what it still has, so
// that nothing arrives whole later, however late the store gets to it.
func TestKilledWhileSending(t *testing.T) {
	t.Parallel()
	const size = 300 << 10 // more than the store's buffer, less than that and ours
	store, s := overFakeStore(t)
	taken := make(chan struct{})
	store.Queue("PUT", report, harness.Plan{WaitBody: taken})
	a := begins(t, s, "PUT", report, stampOf(33, "a"), strings.Repeat("a", size))
	store.AwaitRequest("A's write", func(r harness.Request) bool { return r.Path == report })
	s.Kill()
	<-a.done
	s.Restart()
	says(t, s, "201", "PUT", report, stampOf(34, "b"), "from B")
	close(taken)
	store.AwaitRequest("a part of A's body", func(r harness.Request) bool { return r.N == 1 && r.Received > 0 })
	says(t, s, "204", "PUT", report, stampOf(34, "b"), "from B, again")
	tookEffect(t, store, "PUT "+report+" from B", "PUT "+report+" from B, again")
}
