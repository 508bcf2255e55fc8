package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// endsLater is a command that ends with 3 when the file is there.
func endsLater(t testing.TB) (script string, end func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "end")
	return `echo pids $$; while [ ! -e "` + file + `" ]; do sleep 0.02; done; exit 3`, func() {
		t.Helper()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The command ends before anyone has noticed that the lock was another's: that
// shows when it is given back, and what the command did may be undone.
func TestLockThatWasNotHeldToTheEnd(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	script, end := endsLater(t)
	p := s.lockScript(script, "--ttl", "10m")
	pids(t, p)
	if err := s.rdb.Set(context.Background(), lockKey(report), "1:another", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	end()
	wantCode(t, p, 76)
	saysOneLine(t, p, "may not have been alone", "taken over")
	if held := s.rdb.Get(context.Background(), lockKey(report)).Val(); held != "1:another" {
		t.Errorf("the other's lock is %q now", held)
	}
}

// Redis does not answer any more when a command ends in time: it was alone, so
// its exit code counts.
func TestLockThatCannotBeGivenBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	script, end := endsLater(t)
	p := s.lockScript(script, "--ttl", "10m")
	pids(t, p)
	s.redis.Freeze()
	end()
	wantCode(t, p, 3)
	saysOneLine(t, p, "redis did not answer", "next holder has to wait")
}
