package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// A fencegate lock within another on the same runs under that; on something
// else, or at another fence, it takes a lock of its own.
func TestLockWithinALock(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	other := harness.Fencegate(t)
	inner := harness.Build(t) + " lock --redis " + s.redis.Addr() + " --fence "
	const say = ` -- bash -c 'echo "$FENCING_TOKEN $FENCING_RESOURCES $FENCEGATE_URL"'`
	for _, c := range []struct {
		name, flags, inner string
		same               bool
	}{
		{"the same", "-r " + report, s.fence.URL() + "/ -n -r " + report, true},
		{"the same in another spelling", "-r " + report, s.fence.URL() + " -n -r /reports/%713.csv", true},
		{"one of several", "-r " + report + " -r /b", s.fence.URL() + " -n -r /b", true},
		{"several of several", "-r " + report + " -r /b", s.fence.URL() + " -n -r /b -r " + report, true},
		{"tree of a tree", "-r /t --tree", s.fence.URL() + " -n --tree -r /t", true},
		{"other resource", "-r " + report, s.fence.URL() + " -n -r /b", false},
		{"other fence", "-r " + report + " --namespace outer", other.URL() + " -n -r " + report, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := harness.Start(t, "lock", lockAt(t, s.redis.Addr(), s.fence.URL(), append(strings.Fields(c.flags), "--", "bash", "-c",
				`echo "$FENCING_TOKEN $FENCING_RESOURCES $FENCEGATE_URL"; `+inner+c.inner+say)...))
			wantCode(t, p, 0)
			said := p.Stdout()
			if len(said) != 2 || (said[0] == said[1]) != c.same || strings.Fields(said[1])[0] < strings.Fields(said[0])[0] {
				t.Errorf("outside and inside there is %q", said)
			}
			if len(p.Stderr()) > 0 {
				t.Errorf("it says %q", p.Stderr())
			}
		})
	}

	// Of what is locked without what is below, no tree can be had.
	p := s.lockScript(inner + s.fence.URL() + " -n --tree -r " + report + " -- echo has run")
	wantCode(t, p, 64)
	if said := strings.Join(p.Stderr(), ""); len(p.Stdout()) > 0 || !strings.Contains(said, "--tree") {
		t.Errorf("it says %q %q", p.Stdout(), said)
	}
	// Some of it is locked: both would wait for one another.
	p = s.lockScript(inner + s.fence.URL() + " -w 0.2 -r /b -r " + report + " -- echo has run")
	wantCode(t, p, 75)
}

// The exit code and the signals are the command's: nothing stands between.
func TestLockWithinALockIsTheCommand(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	inner := harness.Build(t) + " lock --redis " + s.redis.Addr() + " --fence " + s.fence.URL() + " -r " + report + " -- bash -c "
	wantCode(t, s.lockScript(inner+`'exit 9'`), 9)
	wantCode(t, s.lockScript("exec "+inner+`'kill -KILL $$'`), 128+9)
	p := s.lockScript("exec " + inner + `'trap "exit 4" TERM; echo ready; while :; do sleep 0.02; done'`)
	p.AwaitLine("ready")
	p.Signal(15)
	wantCode(t, p, 4)
}

// Variables that were kept beyond their lock are worth nothing.
func TestLockWithinALockThatIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.lockScript("export -p")
	wantCode(t, p, 0)
	kept := file(t, t.TempDir()+"/kept", strings.Join(p.Stdout(), "\n"))
	cmd := lockAt(t, s.redis.Addr(), s.fence.URL(), "--", "echo", "has run")
	script := file(t, t.TempDir()+"/script", ". "+kept+"\nexec "+strings.Join(cmd.Args, " "))
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", script}
	q := harness.Start(t, "lock", cmd)
	wantCode(t, q, 76)
	saysOneLine(t, q, report, "not held any more")
	if len(q.Stdout()) > 0 {
		t.Errorf("the command has run: %q", q.Stdout())
	}
}

// What was locked for too long is given up, though it is renewed.
func TestLockHasAMaximum(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	begin := time.Now()
	p := s.lockScript(stubborn, "--ttl", "400ms", "--max-hold", "1500ms")
	all := pids(t, p)
	wantCode(t, p, 76)
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it was ended after %v", took)
	}
	if there := left(all); len(there) > 0 {
		t.Errorf("%v of %v outlive fencegate lock", there, all)
	}
	saysOneLine(t, p, report, "as long as the maximum allows")
	s.awaitFree(report)
}

// -w takes seconds as flock does, and gets a lock that becomes free meanwhile.
func TestLockWaitsForSeconds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.rdb.Set(context.Background(), lockKey(report), "1:another", 300*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	prints(t, harness.Start(t, "lock", s.lockCommand("-w", "20", "--", "echo", "in")), "in")
	if err := s.rdb.Set(context.Background(), lockKey(report), "1:another", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	for _, none := range []string{"0", "0.05", "50ms"} {
		p := harness.Start(t, "lock", s.lockCommand("-w", none, "-E", "0", "--", "echo", "in"))
		wantCode(t, p, 0)
		saysOneLine(t, p, "held by another")
	}
}
