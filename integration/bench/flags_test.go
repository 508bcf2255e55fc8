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
	o, err := parseFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := o.choose()
	if err != nil {
		t.Fatal(err)
	}
	if got, all := len(cases), len(scenes)-1; got != all {
		t.Errorf("without flags %d cases run, want all but the one that needs -before: %d", got, all)
	}
	for i, c := range scenes {
		if _, ok := recipes[c.server]; !ok && c.server != sinkServer {
			t.Errorf("%s needs a server %q, which nobody knows how to start", c.name, c.server)
		}
		if c.against != "" && !slices.Contains(names(scenes), c.against) {
			t.Errorf("%s is compared with %q, which is no case", c.name, c.against)
		}
		if slices.Contains(names(scenes[:i]), c.name) {
			t.Errorf("two cases are named %s", c.name)
		}
	}
}
