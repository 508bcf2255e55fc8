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
			if _, err := exec.LookPath(w.command); err != nil {
				t.Fatalf("%v: run .ci/setup", err)
			}
			dir := t.TempDir()
			writer, stamp := filepath.Join(dir, "writer"), filepath.Join(dir, "stamp")
			if err := os.WriteFile(writer, []byte(w.script), 0o600); err != nil {
				t.Fatal(err)
			}
			write := w.command + " " + writer
			s := newScene(t)

			a := s.lockScript(write+` "from A"; export -p > `+stamp+`; echo pids $$; while :; do sleep 0.02; done`, "--ttl", "1s")
			if said := strings.TrimSpace(a.AwaitLine("")); said != "201" {
				t.Fatalf("A's first write is answered %q", said)
			}
			command := pids(t, a)
			a.Pause()
			if err := syscall.Kill(-command[0], syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			s.awaitFree(report)
			prints(t, s.lockScript(write+` "from B"`), "204")
			late := exec.Command("bash", "-c", ". "+stamp+"; "+write+` "from A, late"`)
			prints(t, harness.Start(t, "late write", late), "412 stale_token")
			holds(t, s.fence, report, "from B")

			a.Resume()
			wantCode(t, a, 76)
			awaitGone(t, command)
			holds(t, s.fence, report, "from B")
		})
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
