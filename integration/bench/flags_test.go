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
		"":                         {duration: 5 * time.Second, rounds: 5},
		"-quick":                   {duration: time.Second, rounds: 3},
		"-quick -dur 2s":           {duration: 2 * time.Second, rounds: 3},
		"-dur 5s -quick -rounds 5": {duration: 5 * time.Second, rounds: 5},
	} {
		o, err := parseFlags(strings.Fields(args))
		if err != nil || o.duration != want.duration || o.rounds != want.rounds {
			t.Errorf("%q: got %d rounds of %v, %v; want %d of %v", args, o.rounds, o.duration, err, want.rounds, want.duration)
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
			if !slices.Contains(names(scenes), w.against) || w.over != "" && !slices.Contains(names(scenes), w.over) {
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
// missing.
func TestTargetsAreMeasured(t *testing.T) {
	for _, c := range scenes {
		for _, w := range c.wanted {
			if w.target == 0 {
				continue
			}
			for _, name := range []string{w.against, w.over} {
				i := slices.IndexFunc(scenes, func(c scene) bool { return c.name == name })
				if i < 0 {
					continue
				}
				if !slices.ContainsFunc(strings.Fields(c.suites), scenes[i].in) {
					t.Errorf("no suite has both %s and %s", c.name, name)
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
