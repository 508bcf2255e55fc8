package integration

import (
	"context"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// stubborn is a command whose processes all ignore TERM: itself, one in its
// group, one in a session of its own, and one whose parent has ended.
const stubborn = `trap '' TERM
sleep 1000 & a=$!
setsid sleep 1000 & b=$!
c=$(setsid sleep 1000 >/dev/null & echo $!)
trap 'echo told to end' TERM
echo pids $$ $a $b $c
while :; do wait; done`

// Redis stops answering while a command runs. Shown: the command and whatever
// it started are gone before Redis gives the lock to another, though they
// ignore TERM, and nothing asks Redis for that.
func TestLockEndsItsCommandBeforeTheLease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		silent func(*scene, *harness.Line)
	}{
		{"frozen", func(s *scene, _ *harness.Line) { s.redis.Freeze() }},
		{"killed", func(s *scene, _ *harness.Line) { s.redis.Kill() }},
		{"cut off", func(_ *scene, w *harness.Line) { w.BlackHole() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			w := harness.NewLine(t, s.redis.Addr())
			p := harness.Start(t, "lock", s.lockCommand("--redis", w.Addr(), "--ttl", "4s", "--grace", "1s", "--", "bash", "-c", stubborn))
			all := pids(t, p)
			expiry := s.awaitRenewal()
			c.silent(s, w)
			p.AwaitLine("told to end")
			if there := left(all); len(there) != len(all) {
				t.Errorf("only %v of %v were there when TERM came", there, all)
			}
			awaitGone(t, all)
			if now := time.Now(); !now.Before(expiry) {
				t.Errorf("they were gone %v after the end of the lease", now.Sub(expiry))
			}
			if c.name == "cut off" && s.expiry() != expiry {
				t.Error("the lease was renewed although Redis could not be reached")
			}
			wantCode(t, p, 76)
			saysOneLine(t, p, report, "could not be renewed")
		})
	}
}

// Another has taken the lock, or somebody has deleted it: the lease is over at
// once, and so is the command.
func TestLockThatIsLostEndsItsCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lose func(*scene) error
		says string
	}{
		{"deleted", func(s *scene) error { return s.rdb.Del(context.Background(), lockKey(report)).Err() }, "is lost: expired"},
		{"taken", func(s *scene) error {
			return s.rdb.Set(context.Background(), lockKey(report), "1:another", time.Minute).Err()
		}, "is lost: stolen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			p := s.lockScript(stubborn, "--ttl", "1s")
			all := pids(t, p)
			if err := c.lose(s); err != nil {
				t.Fatal(err)
			}
			wantCode(t, p, 76)
			if there := left(all); len(there) > 0 {
				t.Errorf("%v of %v outlive fencegate lock", there, all)
			}
			saysOneLine(t, p, report, c.says, "was ended")
		})
	}
}

// Both are stopped past the lease, and go on together: what fencegate does
// first is to end the command.
func TestLockThatWasPausedEndsItsCommand(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.lockScript(stubborn, "--ttl", "1s")
	all := pids(t, p)
	p.Pause()
	s.awaitFree(report)
	p.Resume()
	wantCode(t, p, 76)
	if there := left(all); len(there) > 0 {
		t.Errorf("%v of %v outlive fencegate lock", there, all)
	}
	saysOneLine(t, p, report, "is lost: expired", "was ended")
}
