package integration

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// closedAddr is where nobody listens.
func closedAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// notReady returns both addresses of a fence that holds everything back, as
// each does for its settle time when its ledger was not stopped in order.
func notReady(t testing.TB) (data, admin string) {
	t.Helper()
	p := newPlace(t)
	p.args = []string{"--init", "--settle", "1h", "--max-wait", "20ms"}
	process := harness.Start(t, "fencegate", p.command())
	var serving struct{ Msg, Data, Admin string }
	harness.Eventually(t, "fencegate to serve", func() (any, bool) {
		for _, line := range process.Stderr() {
			if json.Unmarshal([]byte(line), &serving) == nil && serving.Msg == "serving" {
				return line, true
			}
		}
		return process.Stderr(), false
	})
	return serving.Data, serving.Admin
}

// A command's exit code is that of fencegate lock, which then has nothing to
// add, and the lock is free.
func TestLockPassesTheExitCodeOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for script, code := range map[string]int{
		"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -KILL $$": 128 + 9, "kill -TERM $$": 128 + 15,
	} {
		p := s.lockScript(script)
		wantCode(t, p, code)
		if said := p.Stderr(); len(said) > 0 {
			t.Errorf("%s: it says %q", script, said)
		}
		if !s.expiry().IsZero() {
			t.Errorf("%s: the lock is not given back", script)
		}
	}
}

// What cannot be started is found before the lock is waited for: here nothing
// answers.
func TestLockOfNoCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nobody := closedAddr(t)
	for _, c := range []struct {
		command string
		code    int
		says    string
	}{
		{"no-such-command", 127, "no such command in PATH"},
		{dir + "/absent", 127, "no such file"},
		{dir, 126, "cannot be executed"},
		{file("plain.sh", "#!/bin/sh\n", 0o644), 126, "cannot be executed"},
	} {
		p := harness.Start(t, "lock", lockAt(t, nobody, "http://"+nobody, "--", c.command))
		wantCode(t, p, c.code)
		saysOneLine(t, p, c.command, c.says)
	}
	s := newScene(t)
	for path, code := range map[string]int{
		file("old.sh", "#!/no/such/shell\n", 0o755): 127,
		file("noise", "\x00\x01\x02", 0o755):        126,
	} {
		p := harness.Start(t, "lock", s.lockCommand("--", path))
		wantCode(t, p, code)
		saysOneLine(t, p, path, "cannot be started")
		if !s.expiry().IsZero() {
			t.Error("the lock is not given back")
		}
	}
}

// Who does not get the lock does not run the command, and says why.
func TestLockThatIsNotAcquired(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.rdb.Set(context.Background(), lockKey(report), "1:another", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	nobody := closedAddr(t)
	noFence := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(noFence.Close)
	recovering, _ := notReady(t)
	far := harness.Fencegate(t)
	says(t, far, "201", http.MethodPut, "/far", stampOf(fence.DefaultMaxToken/2, "future"), "")
	for _, c := range []struct {
		name         string
		redis, fence string
		args         []string
		code         int
		says         string
	}{
		{"held", s.redis.Addr(), s.fence.URL(), []string{"-n"}, 75, "held by another"},
		{"held for long", s.redis.Addr(), s.fence.URL(), []string{"-w", "50ms"}, 75, "held by another"},
		{"held, other code", s.redis.Addr(), s.fence.URL(), []string{"-n", "-E", "9"}, 9, "held by another"},
		{"no Redis", nobody, s.fence.URL(), []string{"-n"}, 69, "redis did not answer"},
		{"no Redis for long", nobody, s.fence.URL(), []string{"-w", "50ms"}, 69, "redis did not answer"},
		{"no fence", s.redis.Addr(), "http://" + nobody, []string{"-r", "/free"}, 69, "did not confirm"},
		{"another server", s.redis.Addr(), noFence.URL, []string{"-r", "/free"}, 69, "no fencegate"},
		{"fence not ready", s.redis.Addr(), "http://" + recovering, []string{"-r", "/free", "-w", "50ms"}, 75, "recovering"},
		{"fence not ready, other code", s.redis.Addr(), "http://" + recovering, []string{"-r", "/free", "-w", "50ms", "-E", "9"}, 9, "recovering"},
		{"fence far ahead", s.redis.Addr(), far.URL(), []string{"-r", "/far"}, 76, "one Redis issues all tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := harness.Start(t, "lock", lockAt(t, c.redis, c.fence, append(c.args, "--", "echo", "has run")...))
			wantCode(t, p, c.code)
			saysOneLine(t, p, c.says)
			if said := p.Stdout(); len(said) > 0 {
				t.Errorf("the command has run: %q", said)
			}
		})
	}
}

// Who does not wait is told soon that nobody answers: in less time than the
// clean-up after a call without an answer takes.
func TestLockThatDoesNotWaitEndsSoon(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	nobody := closedAddr(t)
	for _, c := range []struct {
		name, redis, fence string
		flags              []string
		within             time.Duration
	}{
		{"no Redis", nobody, s.fence.URL(), []string{"-n"}, 4 * time.Second},
		{"no Redis for long", nobody, s.fence.URL(), []string{"-w", "100ms"}, 4 * time.Second},
		{"silent Redis", silent.Addr().String(), s.fence.URL(), []string{"-n"}, 5 * time.Second},
		{"silent fence", s.redis.Addr(), "http://" + silent.Addr().String(), []string{"-n"}, 15 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			p := harness.Start(t, "lock", lockAt(t, c.redis, c.fence, append(c.flags, "--", "true")...))
			wantCode(t, p, 69)
			took := time.Since(begin)
			t.Logf("it took %v", took)
			if took > c.within {
				t.Errorf("it took %v", took)
			}
		})
	}
}
