package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/integration/harness"
)

// writers write their first argument to what is locked, with what fencegate
// lock has put into the environment and nothing else, and print the answer's
// status and reason.
var writers = []struct{ name, command, script string }{
	{"bash", "bash", `curl -sS -o /dev/null -w '%{http_code} %header{x-fencing-reason}\n' -X PUT \
-H "X-Fencing-Token: $FENCING_TOKEN" --data-binary "$1" "$FENCEGATE_FENCE$FENCING_RESOURCE"
`},
	{"Python", "python3", `import os, sys, urllib.error, urllib.request
request = urllib.request.Request(os.environ["FENCEGATE_FENCE"] + os.environ["FENCING_RESOURCE"], sys.argv[1].encode(), method="PUT", headers={
    "X-Fencing-Token": os.environ["FENCING_TOKEN"], "X-Fencing-Owner": os.environ["FENCING_OWNER"]})
try:
    with urllib.request.urlopen(request) as answer:
        print(answer.status)
except urllib.error.HTTPError as refusal:
    print(refusal.code, refusal.headers["X-Fencing-Reason"])
`},
}

// A holder in another language is stopped past its lease, fencegate lock and
// all; the next one writes; then a write of the first arrives after all. A
// process that was not stopped makes it, since fencegate lock ends those that
// were before they come to it. Shown: S1 order, S4 honest answers.
func TestZombieInAnotherLanguage(t *testing.T) {
	t.Parallel()
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.zombie(w.command, w.script)
			isStored(t, s.fence.Data, report, "from B")
		})
	}
}

// zombie plays the scene with a script that writes.
func (s *scene) zombie(command, script string) {
	t := s.t
	t.Helper()
	if _, err := exec.LookPath(command); err != nil {
		t.Fatalf("%v: run .ci/setup", err)
	}
	dir := t.TempDir()
	writer, stamp := filepath.Join(dir, "writer"), filepath.Join(dir, "stamp")
	if err := os.WriteFile(writer, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	write := command + " " + writer

	a := s.lockScript(write+` "from A"; export -p > `+stamp+`; echo pids $$; while :; do sleep 0.02; done`, "--ttl", "1s")
	if said := strings.TrimSpace(a.AwaitLine("")); said != "201" {
		t.Fatalf("A's first write is answered %q", said)
	}
	held := pids(t, a)
	a.Pause()
	if err := syscall.Kill(-held[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.awaitFree(report)
	prints(t, s.lockScript(write+` "from B"`), "204")
	late := exec.Command("bash", "-c", ". "+stamp+"; "+write+` "from A, late"`)
	prints(t, harness.Start(t, "late write", late), "412 stale_token")
	holds(t, s.fence, report, "from B")

	a.Resume()
	wantCode(t, a, 76)
	awaitGone(t, held)
	holds(t, s.fence, report, "from B")

	if n := s.fence.Metrics().Counter("fencegate_rejections_total"); n != 1 {
		t.Errorf("%v refusals are counted, want 1", n)
	}
	s.fence.Stop() // tells repeats, if there are any
	var refused []harness.Record
	for _, r := range s.fence.Logs() {
		if strings.HasPrefix(r.Text("msg"), "refused") {
			refused = append(refused, r)
		}
	}
	if len(refused) != 1 || refused[0].Text("reason") != "stale_token" || refused[0].Text("resource") != report {
		t.Errorf("the records of refusals are %v, want one", refused)
	}
}

// isStored compares a file of the store itself.
func isStored(t testing.TB, root, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != want {
		t.Errorf("the store holds %q, %v, want %q", got, err, want)
	}
}

// prints waits for the end of a process that prints one line.
func prints(t testing.TB, p *harness.Process, want string) {
	t.Helper()
	wantCode(t, p, 0)
	if got := strings.TrimSpace(strings.Join(p.Stdout(), "\n")); got != want {
		t.Fatalf("it prints %q, want %q", got, want)
	}
}
