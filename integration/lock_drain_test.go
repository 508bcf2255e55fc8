package integration

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// fencegate lock is told to end: so is the command, which takes longer than a
// lease to do so. The lock is held for as long, and free right afterwards.
func TestLockIsHeldWhileItsCommandDrains(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	s := newScene(t)
	enough := filepath.Join(t.TempDir(), "enough")
	p := s.lockScript(`trap 'echo draining; while [ ! -e "`+enough+`" ]; do sleep 0.02; done; exit 5' TERM
echo pids $$; while :; do sleep 0.02; done`, "--ttl", ttl.String())
	all := pids(t, p)
	p.Signal(syscall.SIGTERM)
	p.AwaitLine("draining")
	begin := s.expiry()
	harness.Eventually(t, "the lease to be renewed beyond its first end", func() (any, bool) {
		now := s.expiry()
		if now.IsZero() {
			t.Fatal("the lock is free while the command drains")
		}
		return now, now.After(begin.Add(ttl))
	})
	if len(left(all)) == 0 {
		t.Fatal("the command did not get the time that it took")
	}
	if err := os.WriteFile(enough, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantCode(t, p, 5)
	if !s.expiry().IsZero() {
		t.Error("the lock is not given back")
	}
}

// What a command leaves running when it ends must not write any more when the
// lock is another's: it is ended first, the lock is given back then.
func TestNothingOutlivesTheLock(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.lockScript(`trap '' TERM; sleep 1000 >/dev/null 2>&1 & a=$!; setsid sleep 1000 >/dev/null 2>&1 & echo pids $a $!; exit 6`,
		"--grace", "500ms")
	all := pids(t, p)
	harness.Eventually(t, "the lock to be given back", func() (any, bool) {
		at := s.expiry()
		return at, at.IsZero()
	})
	if there := left(all); len(there) > 0 {
		t.Errorf("%v of %v are there although the lock is free", there, all)
	}
	wantCode(t, p, 6)
}

// kill -9 of fencegate lock ends the command at once, long before the lease.
func TestLockThatIsKilledTakesItsCommandAlong(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.lockScript(`trap '' TERM HUP INT; echo pids $$; while :; do sleep 0.02; done`, "--ttl", "10m")
	all := pids(t, p)
	p.Kill()
	awaitGone(t, all)
	if s.expiry().IsZero() {
		t.Error("the lock is free: then it was not the kill that ended the command")
	}
}
