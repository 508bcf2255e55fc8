package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// davClients are programs that people use. Each puts a file to where it is told,
// with a token unless that is empty.
var davClients = map[string]func(t *testing.T, s *harness.Server, token, file, to string) *exec.Cmd{
	"curl": func(_ *testing.T, s *harness.Server, token, file, to string) *exec.Cmd {
		args := []string{"-sS", "-T", file, s.URL() + to}
		if token != "" {
			args = append(args, "-H", "X-Fencing-Token: "+token)
		}
		return exec.Command("curl", args...)
	},
	"python": func(_ *testing.T, s *harness.Server, token, file, to string) *exec.Cmd {
		// To a name of its own first, and from there to its place: all or nothing.
		return exec.Command("python3", "-c", `
import http.client, sys
host, token, file, to = sys.argv[1:]
c = http.client.HTTPConnection(host)
headers = {"X-Fencing-Token": token} if token else {}
for method, path, body, more in (("PUT", to + ".new", open(file, "rb"), {}), ("MOVE", to + ".new", None, {"Destination": "http://" + host + to})):
    c.request(method, path, body, headers | more)
    r = c.getresponse()
    r.read()
    print(method, r.status, r.getheader("X-Fencing-Reason"))
    if r.status >= 300: sys.exit(1)
`, strings.TrimPrefix(s.URL(), "http://"), token, file, to)
	},
	"rclone": func(_ *testing.T, s *harness.Server, token, file, to string) *exec.Cmd {
		args := []string{"--config", "/dev/null", "--retries", "1", "--low-level-retries", "1", "--ignore-times",
			"--webdav-url", s.URL(), "--webdav-vendor", "other", "copyto", file, ":webdav:" + to}
		if token != "" {
			args = append(args, "--header", "X-Fencing-Token: "+token)
		}
		return exec.Command("rclone", args...)
	},
	// It can add no header: something on the way does.
	"cadaver": func(t *testing.T, s *harness.Server, token, file, to string) *exec.Cmd {
		url := s.URL()
		if token != "" {
			url = withToken(t, s, token)
		}
		cmd := exec.Command("cadaver", "--rcfile=/dev/null", url+"/")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("put %s %s\nquit\n", file, to))
		return cmd
	},
}

// Programs that know nothing of the fence write with a token, without one, and
// with one that somebody else has overtaken. Shown: what each policy says of
// them, by what the store holds then.
func TestWebDAVClients(t *testing.T) {
	t.Parallel()
	store := harness.Apache(t)
	type step struct {
		token string
		done  bool
	}
	for policy, steps := range map[string][]step{
		"require": {{"", false}, {"7", true}, {"", false}, {"6", false}, {"8", true}, {"7", false}},
		"adopt":   {{"", true}, {"7", true}, {"", false}, {"6", false}, {"7", true}},
		"observe": {{"", true}, {"7", true}, {"", true}, {"6", true}},
		"open":    {{"7", true}, {"", true}, {"6", true}},
	} {
		if err := os.Mkdir(filepath.Join(store.Root(), policy), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(store.Root(), policy), 0o777); err != nil {
			t.Fatal(err)
		}
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := davFence(t, store, "--policy", policy)
			for name, client := range davClients {
				to := "/" + policy + "/" + name
				for i, step := range steps {
					file, text := filepath.Join(t.TempDir(), "file"), fmt.Sprint(name, " ", i)
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					said := runs(t, client(t, s, step.token, file, to))
					held, err := os.ReadFile(filepath.Join(store.Root(), to))
					if err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
					if done := string(held) == text; done != step.done {
						t.Errorf("%s, step %d with token %q: stored %v, want %v; it says\n%s", name, i, step.token, done, step.done, said)
					}
				}
			}
		})
	}
}

// runs runs a client to its end, whatever its exit code, in a home of its own.
func runs(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	path, err := exec.LookPath(cmd.Path)
	if err != nil {
		t.Fatalf("%v: run .ci/setup", err)
	}
	bound := exec.CommandContext(ctx, path, cmd.Args[1:]...)
	bound.Stdin, bound.Dir = cmd.Stdin, t.TempDir()
	bound.Env = append(os.Environ(), "HOME="+bound.Dir)
	out, err := bound.CombinedOutput()
	return fmt.Sprint(string(out), "\n", err)
}
