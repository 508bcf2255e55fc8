package integration

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// What is wrong with the command line is found before anything is touched, and
// all of it is told at once.
func TestStartWithWrongFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		code int
		want [][]string
	}{
		{"unknown", []string{"--nonsense"}, 64, [][]string{{"unknown flag --nonsense", "fencegate --help"}}},
		{"not asked for", []string{"there"}, 64, [][]string{{"unexpected argument there", "fencegate --help"}}},
		{"without its value", []string{"--settle"}, 64, [][]string{{"--settle: expected string value", "fencegate --help"}}},
		{"no duration", []string{"--settle", "soon"}, 78, [][]string{{`--settle "soon"`, "expected a duration"}}},
		{"no number", []string{"--max-token", "many"}, 78, [][]string{{`--max-token "many"`, "expected 1 to"}}},
		{"no policy", []string{"--policy", "lax"}, 78, [][]string{{`--policy "lax"`, "open, observe, adopt or require"}}},
		{"reachable by all", []string{"--listen", ":0"}, 78, [][]string{{`--listen ":0"`, "nothing authenticates", "--auth none"}}},
		{"admin reachable by all", []string{"--admin", "0.0.0.0:0"}, 78, [][]string{{`--admin "0.0.0.0:0"`, "nothing authenticates", "--auth none"}}},
		{"many", []string{
			"--upstream", "ftp://localhost:1", "--protocol", "s4", "--listen", "8080", "--admin", "host", "--auth", "all",
			"--settle=-1s", "--max-wait=-1s", "--drain=-1s", "--wait=-1s", "--max-token", "0", "--max-body=-1", "--spool-quota", "0", "--state=",
		}, 78, [][]string{
			{`--upstream "ftp://localhost:1"`, "expected dir:PATH"},
			{`--protocol "s4"`, "expected plain"},
			{`--settle "-1s"`, "expected a duration of 0 or more"},
			{`--state ""`, "expected a directory"},
			{`--max-token "0"`, "expected 1 to"},
			{`--wait "-1s"`, "expected"},
			{`--listen "8080"`, "expected HOST:PORT"},
			{`--admin "host"`, "expected HOST:PORT"},
			{`--auth "all"`, "expected none"},
			{`--max-wait "-1s"`, "expected a duration above 0"},
			{`--max-body "-1"`, "expected a number of bytes"},
			{`--spool-quota "0"`, "expected a number of bytes above 0"},
			{`--drain "-1s"`, "expected"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.args = append(c.args, "--init")
			p.fails(c.code, c.want...)
			if content := contentIfAny(t, p.ledger()); content != nil {
				t.Error("it has made a ledger")
			}
		})
	}
}

// An address that another process has: nothing is left behind, so that the next
// start is like the first.
func TestStartAtAnAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	used := stoppedServer(t)
	for _, flag := range []string{"--listen", "--admin"} {
		want := []string{flag, l.Addr().String(), "address already in use", "choose another"}
		p := usedPlace(t, used)
		p.args = []string{flag, l.Addr().String()}
		p.fails(75, want)
		p = newPlace(t)
		p.args = []string{flag, l.Addr().String(), "--init"}
		p.fails(75, want)
	}
}

// A ledger that clients could replace is not made, nor served, whatever links
// lead to it.
func TestStartWithTheStateInWhatIsServed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.MkdirAll(p.data, 0o755); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(p.data, "sub", "state")
	if err := os.Symlink(inside, p.state); err != nil {
		t.Fatal(err)
	}
	p.args = []string{"--init"}
	want := []string{"--state", inside + " is inside " + p.data}
	p.fails(78, want)
	saysOneLine(t, ledger(t, 78, "init", "--state", p.state, "--upstream", "dir:"+p.data), want...)
	if _, err := os.Lstat(filepath.Dir(inside)); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
}
