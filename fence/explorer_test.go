package fence

import (
	"os"
	"testing"
)

// soakEnv, when it is set and not empty, asks for more of everything.
const soakEnv = "FENCEGATE_SOAK"

func soak() bool { return os.Getenv(soakEnv) != "" }

// TestExplorer visits every state that the rules of decide.go let each scene
// reach, and checks the promises in all of them. A failure shows the shortest
// way to it.
//
//	go test ./fence -run TestExplorer -v
func TestExplorer(t *testing.T) {
	var steps [len(eventTexts)]int
	reasons := map[Reason]int{}
	scenes, ran := explorerScenes(soak()), 0
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			ran++
			x, f, links := searched(sc)
			t.Logf("%d states, %d steps, at most %d from the first", f.states, f.steps, f.depth-1)
			if f.breach != "" {
				t.Fatalf("VIOLATION %s\n%s", f.breach, x.tell(f.trace))
			}
			for _, l := range links {
				steps[l.by.kind]++
			}
			for _, r := range x.rulings {
				for _, a := range r.arrivals {
					if a != nil {
						reasons[a.reason]++
					}
				}
			}
		})
	}
	if ran < len(scenes) || t.Failed() {
		return
	}
	// A search that never gets to where it matters finds nothing either.
	for kind, n := range steps {
		switch k := eventKind(kind); k {
		case evStart, evForget:
		case evRejudge:
			// Whoever no longer passes is told at once, so to judge again at
			// begin finds nothing new; it is kept as a second line.
			if n > 0 {
				t.Error("somebody was refused only at begin")
			}
		default:
			if n == 0 {
				t.Errorf("no scene gets to where it %s", eventTexts[k])
			}
		}
	}
	for _, r := range []Reason{Passed, StaleToken, TreeFenced, OwnerConflict, TokenMissing} {
		if reasons[r] == 0 {
			t.Errorf("no scene has a request judged %q", r)
		}
	}
}

// onlyEnv names the one promise whose breach is looked for, when mutants are.
const onlyEnv = "FENCE_EXPLORER_ONLY"

// searched searches a scene, once for all tests of a run that is not a soak.
func searched(sc *scene) (*explorer, found, []link) {
	if s, ok := searches[sc.name]; ok && !soak() {
		return s.explorer, s.found, s.links
	}
	x := newExplorer(sc)
	x.only = os.Getenv(onlyEnv)
	f, links := x.search()
	if !soak() {
		searches[sc.name] = search{x, f, links}
	}
	return x, f, links
}

type search struct {
	explorer *explorer
	found    found
	links    []link
}

var searches = map[string]search{}
