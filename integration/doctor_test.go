package integration

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// startDoctor starts fencegate doctor.
func startDoctor(t testing.TB, args ...string) *harness.Process {
	t.Helper()
	return harness.Start(t, "doctor", exec.Command(harness.Build(t), append([]string{"doctor"}, args...)...))
}

// diagnosed is what it prints with --json.
type diagnosed struct {
	Safe   bool `json:"safe"`
	Checks []struct{ Check, Result, Verdict string }
	Left   []string
}

// doctor has it look at a store and end with a code.
func doctor(t testing.TB, code int, args ...string) (d diagnosed) {
	t.Helper()
	p := startDoctor(t, append(args, "--json")...)
	if got := p.Wait(); got != code {
		t.Fatalf("exit code %d, want %d: %q %q", got, code, p.Stdout(), p.Stderr())
	}
	if err := json.Unmarshal([]byte(strings.Join(p.Stdout(), "\n")), &d); err != nil {
		t.Fatalf("%v in %q", err, p.Stdout())
	}
	if d.Safe != (code == 0) || len(d.Left) > 0 {
		t.Errorf("exit code %d, and it says %+v", code, d)
	}
	return d
}

// verdict returns what it says of one check.
func (d diagnosed) verdict(check string) (verdicts []string) {
	for _, c := range d.Checks {
		if c.Check == check {
			verdicts = append(verdicts, c.Verdict)
		}
	}
	return verdicts
}

// treeOf lists what is in a directory: names, kinds and contents.
func treeOf(t testing.TB, root string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".DAV"): // Apache's own, for properties
			return fs.SkipDir
		case d.IsDir():
			lines = append(lines, path+"/")
			return nil
		}
		text, err := os.ReadFile(path)
		lines = append(lines, path+": "+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// storeOfOthers puts objects of others into a store.
func storeOfOthers(t testing.TB, root string) []string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, "reports"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, filepath.Join(root, "reports")} {
		if err := os.Chmod(dir, 0o777); err != nil { // Apache is another user
			t.Fatal(err)
		}
	}
	for _, name := range []string{"reports/q3.csv", "name-case", "basic", "late-reset"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("of others"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return treeOf(t, root)
}

// What it says of real stores, where it leaves everything as it was.
func TestDoctorOfRealStores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, protocol, scratch string
		start                   func(t testing.TB) (url, root string, requests func() []string)
		says                    map[string]string // verdict of a check
	}{
		{"nginx", "plain", "/", nginxStore, map[string]string{
			"PUT, GET, DELETE": "ok", "broken upload": "ok", "late effect": "ok", "If-None-Match": "note",
			"names: double slash": "ok", "idle connections": "ok", "large bodies": "ok",
		}},
		{"Apache", "webdav", "/reports/", apacheStore, map[string]string{
			"PUT, GET, DELETE": "ok", "broken upload": "ok", "late effect": "ok", "If-Match": "ok",
			"MOVE": "ok", "COPY": "ok", "Overwrite: F": "ok", "failed MOVE": "ok", "idle connections": "ok",
		}},
		{"Apache", "plain", "/", apacheStore, map[string]string{"missing parent": "note", "broken upload": "ok"}},
	} {
		t.Run(c.name+" "+c.protocol, func(t *testing.T) {
			t.Parallel()
			url, root, requests := c.start(t)
			before := storeOfOthers(t, root)
			d := doctor(t, 0, "--upstream", url, "--protocol", c.protocol, "--scratch", c.scratch)
			for check, want := range c.says {
				if got := d.verdict(check); !slices.Equal(got, []string{want}) {
					t.Errorf("%s: %q, want %q in %+v", check, got, want, d.Checks)
				}
			}
			if after := treeOf(t, root); !slices.Equal(after, before) {
				t.Errorf("there is\n%s\nwas\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
			}
			for _, line := range requests() {
				if fields := strings.Fields(line); len(fields) < 2 || !strings.HasPrefix(fields[1], c.scratch+".fencegate-doctor-") {
					t.Errorf("a request outside of its folder: %s", line)
				}
			}
		})
	}
}

func nginxStore(t testing.TB) (string, string, func() []string) {
	n := harness.Nginx(t)
	return n.URL(), n.Root(), n.Requests
}

func apacheStore(t testing.TB) (string, string, func() []string) {
	a := harness.Apache(t)
	return a.URL(), a.Root(), a.Requests
}

// A way around fencegate is told, and one that is closed.
func TestDoctorTriesTheWayAround(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	before := storeOfOthers(t, store.Root())
	front := harness.Fencegate(t, "--upstream", store.URL(), "--settle", "1s")
	for _, c := range []struct {
		name, direct, verdict string
		code                  int
	}{
		{"open", store.URL(), "unsafe", 1},
		{"nobody there", "http://" + closedAddr(t), "ok", 0},
		{"a fencegate", front.URL(), "ok", 0},
	} {
		d := doctor(t, c.code, "--upstream", store.URL(), "--direct", c.direct)
		if got := d.verdict("access"); !slices.Equal(got, []string{c.verdict}) {
			t.Errorf("%s: %q, want %q", c.name, got, c.verdict)
		}
	}
	if after := treeOf(t, store.Root()); !slices.Equal(after, before) {
		t.Errorf("there is\n%s\nwas\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// A store that takes its time over a write whose sender is gone.
func TestDoctorMeasuresLateEffects(t *testing.T) {
	t.Parallel()
	s := harness.NewFakeStore(t)
	s.Plan(func(r harness.Request) harness.Plan {
		if r.Method == "PUT" && strings.Contains(r.Path, "/late-") {
			return harness.Plan{UntilGone: true, Delay: time.Second}
		}
		return harness.Plan{}
	})
	d := doctor(t, 0, "--upstream", s.URL(), "--settle", "3s")
	if got := d.verdict("late effect"); !slices.Equal(got, []string{"note"}) {
		t.Errorf("late effect: %q in %+v", got, d.Checks)
	}
}

func TestDoctorOfNobody(t *testing.T) {
	t.Parallel()
	p := startDoctor(t, "--upstream", "http://"+closedAddr(t))
	wantCode(t, p, 69)
	saysOneLine(t, p, "cannot be reached", "connection refused")
	p = startDoctor(t, "--upstream", "dir:"+filepath.Join(t.TempDir(), "none"))
	wantCode(t, p, 69)
	saysOneLine(t, p, "cannot be reached", "no such file")
	p = startDoctor(t)
	wantCode(t, p, 64)
	saysOneLine(t, p, "--upstream is missing")
}

// Told to end in the middle, it removes what it has made.
func TestDoctorClearsUpOnASignal(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	before := storeOfOthers(t, store.Root())
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := startDoctor(t, "--upstream", store.URL())
		harness.Eventually(t, "the doctor to have stored something", func() (any, bool) {
			now := treeOf(t, store.Root())
			return now, len(now) > len(before)+2
		})
		p.Signal(sig)
		wantCode(t, p, 1)
		saysOneLine(t, p, "interrupted")
		harness.Eventually(t, "the store to be as it was", func() (any, bool) {
			now := treeOf(t, store.Root())
			return now, slices.Equal(now, before)
		})
	}
}

// The table is for people: what was seen, and a configuration that serve takes.
func TestDoctorPrintsSettings(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := startDoctor(t, "--upstream", "dir:"+root)
	wantCode(t, p, 0)
	said := strings.Join(p.Stdout(), "\n")
	_, settings, ok := strings.Cut(said, "Settings for fencegate serve --config:\n\n")
	settings, _, _ = strings.Cut(settings, "\n\n")
	if !ok || !strings.HasPrefix(said, "CHECK ") {
		t.Fatalf("it prints:\n%s", said)
	}
	file := filepath.Join(t.TempDir(), "fencegate.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	check := harness.Start(t, "config", exec.Command(harness.Build(t), "config", "check", file))
	wantCode(t, check, 0)
}
