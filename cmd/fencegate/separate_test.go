package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// links makes symbolic links, each "from -> to", and the directories to them.
func links(t testing.TB, dir string, links ...string) {
	t.Helper()
	for _, l := range links {
		from, to, _ := strings.Cut(l, " -> ")
		from = filepath.Join(dir, from)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(strings.ReplaceAll(to, "DIR", dir), from); err != nil {
			t.Fatal(err)
		}
	}
}

// Ours and what is served are kept apart whatever names lead there.
func TestStateApartFromWhatIsServed(t *testing.T) {
	for name, c := range map[string]struct {
		state, data string
		links       []string
		want        string // "" for apart
	}{
		"beside":               {"state", "data", nil, ""},
		"beside, alike":        {"data-state", "data", nil, ""},
		"the same":             {"data", "data", nil, "is inside"},
		"inside":               {"data/a/state", "data", nil, "is inside"},
		"around":               {"state", "state/data", nil, "contains"},
		"relative":             {"x/../data/state", "./data", nil, "is inside"},
		"state is a link":      {"state", "data", []string{"state -> data/s"}, "is inside"},
		"parent is a link":     {"l/state", "data", []string{"l -> data"}, "is inside"},
		"data is a link":       {"state", "data", []string{"data -> DIR/state/d"}, "contains"},
		"a link, then up":      {"state", "data", []string{"state -> m/../s", "m -> data/below/deep", "data/below/deep/x -> y"}, "is inside"},
		"the ledger is a link": {"state", "data", []string{"state/ledger.db -> ../data/l"}, "ledger.db"},
		"the spool is a link":  {"state", "data", []string{"state/spool -> DIR/data"}, "is inside"},
		"a link out of data":   {"data/s", "data", []string{"data/s -> DIR/elsewhere"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			links(t, dir, c.links...)
			_, err := parseConfig("f.yml", []byte("upstream: dir:"+c.data+"\nstate: "+c.state+"\n"), nil)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (exitCode(err) != exitConfig || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%d %v, want %d %q", exitCode(err), err, exitConfig, c.want)
			}
		})
	}
}

// A directory with two names, such as a bind mount or where the file system
// folds case, is one.
func TestWithinByInode(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data", "state"), 0o755); err != nil {
		t.Fatal(err)
	}
	links(t, dir, "other -> data")
	if !isWithin(filepath.Join(dir, "other", "state"), filepath.Join(dir, "data")) {
		t.Error("known by its name only")
	}
	if isWithin(filepath.Join(dir, "none"), filepath.Join(dir, "data")) {
		t.Error("beside is within")
	}
}
