package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCasesAreChosen(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // names, or part of the error after "!"
	}{
		{"-cases stale,nginx,stale", "nginx,stale"},
		{"-before x -cases fencegate,before", "before,fencegate"},
		{"-suite dir", "files,dir,dir-bare,nginx-files,fencegate-files"},
		{"-suite dir -cases nginx", "nginx"},
		{"-suite dirs", `!there is no "dirs"`},
		{"-cases before", "!needs -before"},
		{"-cases nginy", `!there is no "nginy"`},
		{"-dur 30s -cases nginx", "nginx"},
		{"-dur 30s -cases stalled", "!at most 25s"},
		{"-dur 1500ms", "!whole seconds"},
		{"-warmup 0s", "!whole seconds"},
		{"-store lighter", `!there is no "lighter"`},
		{"-repeats -1", "!-repeats"},
		{"-conns 1", "!at least that many"},
		{"-rounds 0", "!-rounds 1"},
		{"quick", `!unexpected "quick"`},
		{"-fencegate x -profile y", "!leave out -fencegate"},
	} {
		o, err := parseFlags(strings.Fields(c.args))
		var cases []scene
		if err == nil {
			cases, err = o.choose()
		}
		wantErr, fails := strings.CutPrefix(c.want, "!")
		switch {
		case fails && (err == nil || !strings.Contains(err.Error(), wantErr)):
			t.Errorf("%s: got %v, want an error with %q", c.args, err, wantErr)
		case !fails && (err != nil || strings.Join(names(cases), ",") != c.want):
			t.Errorf("%s: got %v, %v; want %s", c.args, names(cases), err, c.want)
		}
	}
}

func TestQuickIsADefault(t *testing.T) {
	for args, want := range map[string]options{
		"":                         {duration: 2 * time.Second, rounds: 5, repeats: 2},
		"-quick":                   {duration: time.Second, rounds: 3},
		"-quick -dur 2s":           {duration: 2 * time.Second, rounds: 3},
		"-dur 5s -quick -rounds 5": {duration: 5 * time.Second, rounds: 5},
	} {
		o, err := parseFlags(strings.Fields(args))
		if err != nil || o.duration != want.duration || o.rounds != want.rounds || o.repeats != want.repeats {
			t.Errorf("%q: got %d rounds of %v with %d repeats, %v; want %d of %v with %d", args, o.rounds, o.duration, o.repeats, err, want.rounds, want.duration, want.repeats)
		}
	}
}

func TestAllCasesCanRun(t *testing.T) {
	o, err := parseFlags([]string{"-suite", allSuites})
	if err != nil {
		t.Fatal(err)
	}
	cases, err := o.choose()
	if err != nil {
		t.Fatal(err)
	}
	if got, all := len(cases), len(scenes)-1; got != all {
		t.Errorf("%d cases run, want all but the one that needs -before: %d", got, all)
	}
	type use struct{ rising, equal bool }
	uses := map[string]use{}
	for i, c := range scenes {
		r, ok := recipes[c.server]
		if !ok && c.server != sinkServer {
			t.Errorf("%s needs a server %q, which nobody knows how to start", c.name, c.server)
		}
		if _, ok := recipes[r.store]; r.store != "" && !ok {
			t.Errorf("%s needs a store %q, which nobody knows how to start", c.server, r.store)
		}
		for _, w := range c.wanted {
			if !w.kind.figure() && !slices.Contains(names(scenes), w.against) || w.over != "" && !slices.Contains(names(scenes), w.over) {
				t.Errorf("%s is compared with %q over %q, which is no case", c.name, w.against, w.over)
			}
		}
		if slices.Contains(names(scenes[:i]), c.name) {
			t.Errorf("two cases are named %s", c.name)
		}
		for suite := range strings.FieldsSeq(c.suites) {
			if !slices.Contains(suites, suite) {
				t.Errorf("%s is in the suite %q, which there is not", c.name, suite)
			}
		}
		u := uses[c.server]
		u.rising, u.equal = u.rising || c.tokens.rising, u.equal || !c.tokens.rising
		uses[c.server] = u
		if u.rising && u.equal {
			t.Errorf("%s is for equal tokens and for rising ones", c.server)
		}
	}
}

// What is compared must be measured in the same run, or the ratio is silently
// missing. What has a target is in the main suite, with all that this needs.
func TestTargetsAreMeasured(t *testing.T) {
	says := map[string]bool{}
	for _, c := range scenes {
		for _, w := range c.wanted {
			if w.kind == byTold {
				if w.says != "" || w.target != 0 {
					t.Errorf("%s : %s has a target that nobody is told", c.name, w.against)
				}
				continue
			}
			if w.says == "" || says[w.says] {
				t.Errorf("the target of %s : %s has the name %q, which is none or another's", c.name, w.against, w.says)
			}
			says[w.says] = true
			needs := []string{c.name}
			if !w.kind.figure() {
				needs = append(needs, w.against)
			}
			if w.kind == additions {
				needs = append(needs, w.over)
			}
			for _, name := range needs {
				i := slices.IndexFunc(scenes, func(c scene) bool { return c.name == name })
				if i >= 0 && !scenes[i].in("main") {
					t.Errorf("%s is needed for a target, and not in the main suite", name)
				}
			}
		}
	}
}

func TestShape(t *testing.T) {
	common := load{conns: 64, threads: 2, paths: 1000, size: 1024}
	if got := (scene{}).shape(common); got != common {
		t.Errorf("a case without a shape has the load %+v, want %+v", got, common)
	}
	got := scene{conns: 1, size: 5, paths: 7, reads: true}.shape(common)
	if want := (load{conns: 1, threads: 1, paths: 7, size: 5, reads: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
