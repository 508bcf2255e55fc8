package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// Clients of the contract in other languages, in clients/, and how long they may
// be: they show how little it takes.
var foreign = []struct {
	name, file string
	lines      int
	command    string
	script     string // of a holder that writes, is paused, and writes again
}{
	{"bash", "lock.sh", 40, "bash", `set -e
. "$CLIENT"
write_text() { echo -n "$1" >"$WORK/$NAME"; write "$WORK/$NAME"; }
lock "$RESOURCE"; echo "token $token $owner"
write_text "from $NAME"
if [[ $NAME == A ]]; then
    while [[ ! -e $WORK/go ]]; do sleep 0.02; done
    write_text "not sent" || echo "not held"
    echo -n "from A, late" >"$WORK/A"; request -T "$WORK/A"
fi
unlock; echo done
`},
	{"Python", "lock.py", 80, "python3", `import importlib.util, os, time
spec = importlib.util.spec_from_file_location("lock", os.environ["CLIENT"]); module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
name, work = os.environ["NAME"], os.environ["WORK"]
def say(*words): print(*words, flush=True)
with module.Lock(os.environ["REDIS"], os.environ["FENCE"], os.environ["RESOURCE"], os.environ["SCRIPTS"], ttl=int(os.environ["TTL"]) / 1000) as lock:
    say("token", lock.token, lock.owner)
    say(*lock.write(b"from " + name.encode()))
    if name == "A":
        while not os.path.exists(work + "/go"): time.sleep(0.02)
        try: lock.write(b"not sent")
        except TimeoutError: say("not held")
        say(*lock.write(b"from A, late", look=False))
say("done")
`},
}

// abroad starts a holder in another language.
func (s *scene) abroad(command, script, client, work, name, ttl string) *harness.Process {
	s.t.Helper()
	if _, err := exec.LookPath(command); err != nil {
		s.t.Fatalf("%v: run .ci/setup", err)
	}
	client, err := filepath.Abs(filepath.Join("clients", client))
	if err != nil {
		s.t.Fatal(err)
	}
	scripts, err := filepath.Abs(filepath.Join(top, "lockclient"))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(command, file(s.t, filepath.Join(work, name+".script"), script))
	cmd.Env = append(os.Environ(), "CLIENT="+client, "SCRIPTS="+scripts, "WORK="+work, "NAME="+name, "TTL="+ttl, "PYTHONDONTWRITEBYTECODE=1",
		"RESOURCE="+report, "REDIS="+s.redis.Addr(), "FENCE="+s.fence.URL())
	return harness.Start(s.t, name, cmd)
}

// A holder of a foreign client is paused past its lease, another of the same
// language writes, and lockclient's holder after it; the first wakes up: it knows
// that its lease is over, and what it sends all the same is refused. Shown: S1
// order, S2 claim.
func TestForeignClientsAsZombies(t *testing.T) {
	t.Parallel()
	for _, c := range foreign {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			work := t.TempDir()
			a := s.abroad(c.command, c.script, c.file, work, "A", "1500")
			tokenA := strings.Fields(a.AwaitLine("token "))
			if said := strings.TrimSpace(a.AwaitLine("")); said != "201" {
				t.Fatalf("A's write is answered %q", said)
			}
			s.awaitRenewal() // it does so by itself
			a.Pause()
			s.awaitFree(report)
			b := s.abroad(c.command, c.script, c.file, work, "B", "60000")
			tokenB := strings.Fields(b.AwaitLine("token "))
			if said := strings.TrimSpace(b.AwaitLine("")); said != "204" {
				t.Fatalf("B's write is answered %q", said)
			}
			b.AwaitLine("done")
			wantCode(t, b, 0)
			if !s.expiry().IsZero() {
				t.Error("B has not given the lock back")
			}
			if numeral(t, tokenB[1]) <= numeral(t, tokenA[1]) || tokenA[2] == tokenB[2] {
				t.Errorf("B's %v does not follow A's %v", tokenB, tokenA)
			}
			file(t, work+"/go", "")
			a.Resume()
			a.AwaitLine("not held")
			if said := strings.TrimSpace(a.AwaitLine("")); said != "412 stale_token" {
				t.Errorf("A's late write is answered %q", said)
			}
			a.AwaitLine("done")
			wantCode(t, a, 0)
			holds(t, s.fence, report, "from B")
			isStored(t, s.fence.Data, report, "from B")

			holder := s.holder("host-c/3", time.Minute, "time") // shares counter and keys
			holder.lock(report)
			if numeral(t, tokenB[1]) >= int(holder.token) {
				t.Errorf("lockclient's token %s does not follow %v", holder.token, tokenB)
			}
			holder.does("unlock", "unlocked")
		})
	}
}

// They wait for one another and for lockclient, and what they hold keeps others
// waiting for as long as they live, not longer.
func TestForeignClientsTakeTurns(t *testing.T) {
	t.Parallel()
	for _, c := range foreign {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			holder := s.holder("host-a/1", time.Minute, "time")
			holder.lock(report)
			work := t.TempDir()
			b := s.abroad(c.command, c.script, c.file, work, "B", "60000")
			harness.Eventually(t, "B to ask for the lock", func() (any, bool) {
				stats, err := s.rdb.Info(t.Context(), "commandstats").Result()
				return err, strings.Contains(stats, "cmdstat_eval:")
			})
			holder.does("put from lockclient", "201")
			holder.does("unlock", "unlocked")
			b.AwaitLine("done")
			holds(t, s.fence, report, "from B")

			a := s.abroad(c.command, c.script, c.file, work, "A", "1500")
			a.AwaitLine("token ")
			a.Signal(9) // the group: renewal in another process dies, too
			a.Wait()
			s.awaitFree(report)
		})
	}
}

// A shell that is killed alone does not leave a renewal behind for ever.
func TestForeignBashIsKilledAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a := s.abroad("bash", foreign[0].script, "lock.sh", t.TempDir(), "A", "900")
	a.AwaitLine("201")
	s.awaitRenewal()
	if err := killOne(a.PID()); err != nil {
		t.Fatal(err)
	}
	s.awaitFree(report)
}

func killOne(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Without the fence's word there is no lock.
func TestForeignClientsWithoutAFence(t *testing.T) {
	t.Parallel()
	for _, c := range foreign {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			says(t, s.fence, "201", "PUT", report, stampOf(1<<52, "future"), "future")
			b := s.abroad(c.command, c.script, c.file, t.TempDir(), "B", "60000")
			if code := b.Wait(); code == 0 {
				t.Error("a refused claim passes")
			}
			if said := b.Stdout(); len(said) > 0 {
				t.Errorf("it says %q", said)
			}
			s.awaitFree(report)
		})
	}
}

func TestForeignClientsAreShort(t *testing.T) {
	for _, c := range foreign {
		text, err := os.ReadFile(filepath.Join("clients", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > c.lines {
			t.Errorf("%s has %d lines, want at most %d", c.file, n, c.lines)
		}
		contract, err := os.ReadFile(filepath.Join(top, "lockclient", "CONTRACT.md"))
		if err != nil || !bytes.Contains(contract, []byte("integration/clients/"+c.file)) {
			t.Errorf("CONTRACT.md does not name %s, %v", c.file, err)
		}
	}
}

func numeral(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
