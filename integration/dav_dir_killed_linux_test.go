package integration

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// Again and again fencegate is killed while trees are copied, moved and deleted
// over one another, beside writers of single objects. Shown: after each start
// every tree is what it was before the operation that was not answered, or what
// it is to be after it, whole; what was answered stays; nothing is left in the
// staging area.
func TestKilledWhileTreesMove(t *testing.T) {
	t.Parallel()
	s := serveDAV(t, "--policy", "require")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const areas = 3
	all := make([]*treeArea, areas)
	for i := range all {
		all[i] = newTreeArea(t, s, i, rand.New(rand.NewPCG(seed, uint64(i))))
	}
	single := &written{path: "/single"}
	var tokens atomic.Uint64
	random := rand.New(rand.NewPCG(seed, areas))
	cut := map[string]int{} // what was on its way when fencegate was killed, and whether it was done
	for range harness.Scale(120) {
		answers := make(chan string, 1<<16)
		var killed atomic.Bool
		var running sync.WaitGroup
		for _, a := range all {
			running.Go(func() {
				if err := a.changeUntilGone(s.URL(), answers); !killed.Load() {
					t.Errorf("%s: %v", a.last, err)
				}
			})
		}
		running.Go(func() {
			if err := single.writeUntilGone(s.URL(), &tokens, answers); !killed.Load() {
				t.Errorf("a write got no answer: %v", err)
			}
		})
		last := ""
		patience := time.After(harness.Patience)
		for n := 1 + random.IntN(60); n > 0; n-- {
			select {
			case last = <-answers:
			case <-patience:
				t.Fatalf("%d answers less than wanted; the last one was %s", n, last)
			}
		}
		killed.Store(true)
		s.Kill()
		running.Wait()
		s.Restart()
		if t.Failed() {
			return
		}
		for _, a := range all {
			cut[a.check(t)]++
		}
		single.check(t, s.Server)
		s.isSwept(t)
	}
	t.Logf("cut were %v", cut)
}

// treeArea is a collection in which trees come, move and go. Two sources, of
// versions 1 and 2, stay.
type treeArea struct {
	root, path string
	random     *rand.Rand
	now, next  map[string]string // the version of each tree that is there: before and after what is on its way
	last       string            // that
	token      int
}

var treeNames = []string{"x", "y", "z"}

// treeFiles are in each version, beside some that only the one has.
const treeFiles = 60

func newTreeArea(t *testing.T, s served, n int, random *rand.Rand) *treeArea {
	t.Helper()
	a := &treeArea{root: filepath.Join(s.Data, fmt.Sprint("area", n)), path: fmt.Sprint("/area", n), random: random, now: map[string]string{}, token: 1}
	for _, version := range []string{"1", "2"} {
		for i := range treeFiles {
			name := filepath.Join(a.root, "s"+version, fmt.Sprint("d", i%7), fmt.Sprint("in", version), fmt.Sprint("f", i))
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(version), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.now["s1"], a.now["s2"] = "1", "2"
	return a
}

// changeUntilGone makes one random change after the other until there is no
// answer.
func (a *treeArea) changeUntilGone(url string, answers chan<- string) error {
	for {
		request, want := a.change()
		answer, err := tryAsk(url, request)
		if err != nil {
			return err
		}
		if answer.String() != want {
			return fmt.Errorf("it is answered %v, want %s: %s", answer, want, answer.body)
		}
		a.now = a.next
		answers <- a.last
	}
}

// change decides on one and says what it is to lead to.
func (a *treeArea) change() (request, want string) {
	a.token++
	to := treeNames[a.random.IntN(len(treeNames))]
	a.next = map[string]string{}
	for name, version := range a.now {
		a.next[name] = version
	}
	put := func(version string) string {
		want := map[bool]string{true: "204", false: "201"}[a.now[to] != ""]
		a.next[to] = version
		return want
	}
	switch from := treeNames[a.random.IntN(len(treeNames))]; {
	case a.now[to] != "" && a.random.IntN(4) == 0:
		delete(a.next, to)
		request, want = fmt.Sprintf("DELETE %s/%s/", a.path, to), "204"
	case a.now[from] != "" && from != to && a.random.IntN(2) == 0:
		request, want = fmt.Sprintf("MOVE %s/%s/\nDestination: %s/%s/", a.path, from, a.path, to), put(a.now[from])
		delete(a.next, from)
	default:
		version := fmt.Sprint(1 + a.random.IntN(2))
		request, want = fmt.Sprintf("COPY %s/s%s/\nDestination: %s/%s/", a.path, version, a.path, to), put(version)
	}
	a.last = strings.ReplaceAll(request, "\n", " ")
	return request + fmt.Sprint("\nX-Fencing-Token: ", a.token), want
}

// check finds the trees either as they were or as they were to be, and goes on
// from there.
func (a *treeArea) check(t *testing.T) (cut string) {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(a.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found[e.Name()] = a.version(t, e.Name())
	}
	method, _, _ := strings.Cut(a.last, " ")
	switch same := func(want map[string]string) bool { return fmt.Sprint(found) == fmt.Sprint(want) }; {
	case same(a.next):
		a.now, cut = a.next, method+" done"
	case same(a.now):
		cut = method + " undone"
	default:
		t.Fatalf("killed at %s, it holds %v, want %v or %v", a.last, found, a.now, a.next)
	}
	return cut
}

// version returns which version a tree is, all of it.
func (a *treeArea) version(t *testing.T, name string) (version string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(a.root, name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if n++; n == 1 {
			version = string(text)
		}
		if string(text) != version || filepath.Base(filepath.Dir(path)) != "in"+version {
			t.Errorf("%s holds %q, and others %q", path, text, version)
		}
		return err
	})
	if err != nil || n != treeFiles {
		t.Errorf("killed at %s, of %s/%s there are %d files, want %d: %v", a.last, a.path, name, n, treeFiles, err)
	}
	return version
}
