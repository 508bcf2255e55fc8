package integration

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// ledger runs fencegate ledger to its end.
func ledger(t testing.TB, code int, args ...string) *harness.Process {
	t.Helper()
	p := harness.Start(t, "ledger", exec.Command(harness.Build(t), append([]string{"ledger"}, args...)...))
	wantCode(t, p, code)
	return p
}

// A ledger that is made beforehand is served without --init, and its id is what
// is printed.
func TestLedgerInit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := ledger(t, 0, "init", "--state", p.state, "--upstream", "dir:"+p.data).Stdout()
	if len(id) != 1 || len(id[0]) != 32 {
		t.Fatalf("it prints %q, want an id", id)
	}
	s := harness.Fencegate(t, "--state", p.state, "--upstream", "dir:"+p.data)
	if got := s.AwaitLog(harness.Message("serving")).Text("ledger"); got != id[0] {
		t.Errorf("ledger %s is served, %s was made", got, id[0])
	}
	made := contentIfAny(t, p.ledger())
	saysOneLine(t, ledger(t, 73, "init", "--state", p.state, "--upstream", "dir:"+p.data), "already initialised", "without --init")
	if !bytes.Equal(made, contentIfAny(t, p.ledger())) {
		t.Error("the ledger that was there has changed")
	}
	// The marks that the storage is guarded by must not be forgotten.
	lost := newPlace(t)
	saysOneLine(t, ledger(t, 65, "init", "--state", lost.state, "--upstream", "dir:"+p.data), p65, "guarded by ledger "+id[0])
	if contentIfAny(t, lost.ledger()) != nil {
		t.Error("it has made a ledger all the same")
	}
	// Where the ledger is apart from the state, and the storage remembers nothing.
	apart := "bolt:" + filepath.Join(t.TempDir(), "apart")
	id = ledger(t, 0, "init", "--ledger", apart, "--upstream", "http://127.0.0.1:1", "--tokens", "time").Stdout()
	if said := ledger(t, 0, "check", "--ledger", apart).Stdout(); len(said) != 1 || !strings.Contains(said[0], id[0]) || !strings.Contains(said[0], "tokens time") {
		t.Errorf("the ledger %s of another directory is said to be %q", id, said)
	}
	saysOneLine(t, ledger(t, 64, "init", "--state", lost.state, "--upstream", "ftp://localhost", "--tokens", "odd"),
		"--upstream", "dir:PATH", "--tokens", "any")
	saysOneLine(t, ledger(t, 64, "check", "--ledger", "here"), "--ledger", "bolt:PATH")
}

// marked is where a fence has stopped that has marks and a floor.
func marked(t testing.TB) (s *harness.Server, p *place) {
	t.Helper()
	s = harness.Fencegate(t)
	says(t, s, "201", http.MethodPut, report, stampOf(7, "holder"), "seven")
	says(t, s, "201", http.MethodPut, "/reports/a%20b", fence.Stamp{Token: 9, Client: "test/no owner"}, "nine")
	says(t, s, "204", http.MethodDelete, "/reports", stampOf(12, "sweeper"), "")
	says(t, s, "201", http.MethodPut, "/zoo", stampOf(3, "keeper"), "three")
	if code := s.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	return s, usedPlace(t, s)
}

// files are all of a state directory with their contents.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found[path] = string(contentIfAny(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What is shown is what the fence itself would answer, and looking changes
// nothing: no byte, no file more, and no clean end that becomes an unclean one.
func TestLedgerIsOnlyLookedAt(t *testing.T) {
	t.Parallel()
	s, p := marked(t)
	before := files(t, p.state)
	check := strings.Join(ledger(t, 0, "check", "--state", p.state).Stdout(), "\n")
	for _, word := range []string{"sound", "3 marks", "1 floors", "stopped in order"} {
		if !strings.Contains(check, word) {
			t.Errorf("check says %q, not %q", check, word)
		}
	}
	rows := ledgerRows(t, ledger(t, 0, "list", "--state", p.state, "--json"))
	want := []ledgerRow{
		{"mark", "/reports/a%20b", "9", "", "test/no owner"},
		{"mark", report, "7", stampOf(7, "holder").Owner.Digest(), "test/holder"},
		{"mark", "/zoo", "3", stampOf(3, "keeper").Owner.Digest(), "test/keeper"},
		{"floor", "/reports", "12", stampOf(12, "sweeper").Owner.Digest(), "test/sweeper"},
	}
	equalRows(t, rows, want)
	equalRows(t, ledgerRows(t, ledger(t, 0, "list", "--state", p.state, "--json", "--below", "/reports")), []ledgerRow{want[0], want[1], want[3]})
	equalRows(t, ledgerRows(t, ledger(t, 0, "list", "--state", p.state, "--json", "--below", report)), want[1:2])
	text := ledger(t, 0, "list", "--state", p.state).Stdout()
	if len(text) != 5 || strings.Join(strings.Fields(text[0]), " ") != "KIND PATH TOKEN SINCE OWNER_SHA256 CLIENT" {
		t.Fatalf("list prints %q", text)
	}
	first := strings.Fields(text[1])
	if _, err := time.Parse(time.RFC3339Nano, first[3]); err != nil || first[4] != "-" || strings.Join(first[5:], " ") != "test/no owner" {
		t.Errorf("the first row is %q, %v", text[1], err)
	}
	for path, want := range map[string]ledgerRow{
		report: want[3], "/reports/new": want[3], "/reports": want[3], "/zoo": want[2], "/zoo/below": {"none", "/zoo/below", "0", "", ""},
	} {
		equalRows(t, ledgerRows(t, ledger(t, 0, "get", "--state", p.state, "--json", path)), []ledgerRow{want})
		if got := ledger(t, 0, "get", "--state", p.state, path).Stdout(); len(got) != 2 || strings.Fields(got[1])[2] != want.Token {
			t.Errorf("get %s prints %q, want token %s", path, got, want.Token)
		}
	}
	saysOneLine(t, ledger(t, 64, "get", "--state", p.state, "zoo"), `"zoo"`, "expected a path")
	saysOneLine(t, ledger(t, 64, "list", "--state", p.state, "--below", "zoo"), `--below "zoo"`, "expected a path")
	if after := files(t, p.state); len(before) == 0 || !equalFiles(before, after) {
		t.Error("looking at the ledger has changed its directory")
	}
	for _, owner := range []string{"owner-of-holder", "owner-of-sweeper"} {
		if !strings.Contains(before[p.ledger()], owner) || strings.Contains(strings.Join(text, "\n"), owner) {
			t.Errorf("%s is in no file, or is shown", owner)
		}
	}
	s.Start()
	s.AwaitReady()
	if m := markOf(t, s, report); m.Token != "12" || m.Via != "floor" {
		t.Errorf("the fence itself says %+v of %s", m, report)
	}
}

func equalFiles(a, b map[string]string) bool {
	for path, content := range a {
		if other, ok := b[path]; !ok || other != content {
			return false
		}
	}
	return len(a) == len(b)
}

// ledgerRow is a row as it is printed, but for its time.
type ledgerRow struct{ Kind, Path, Token, Owner, Client string }

func ledgerRows(t testing.TB, p *harness.Process) (rows []ledgerRow) {
	t.Helper()
	for _, line := range p.Stdout() {
		var r struct {
			Kind, Path, Token, Since, Client string
			Owner                            string `json:"owner_sha256"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, err := time.Parse(time.RFC3339Nano, r.Since); err != nil && r.Kind != "none" {
			t.Errorf("since %q: %v", r.Since, err)
		}
		rows = append(rows, ledgerRow{r.Kind, r.Path, r.Token, r.Owner, r.Client})
	}
	return rows
}

func equalRows(t testing.TB, got, want []ledgerRow) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}
