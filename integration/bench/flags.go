package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	cases    string
	suite    string
	conns    int
	threads  int
	paths    int
	size     int
	duration time.Duration
	warmUp   time.Duration
	rounds   int
	quick    bool
	json     string
	svg      string
	markdown string
	store    string
	repeats  int
	profile  string
	binary   string
	before   string
	dir      string

	play, upstream, state string // for our own processes
}

func parseFlags(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.cases, "cases", "", "names of the cases to run, separated by commas (default: those of -suite) from "+strings.Join(names(scenes), ","))
	f.StringVar(&o.suite, "suite", "main", "which cases to run: "+strings.Join(suites, ", "))
	f.IntVar(&o.conns, "conns", 64, "connections of the load")
	f.IntVar(&o.threads, "threads", 2, "threads of wrk")
	f.IntVar(&o.paths, "paths", 1000, "paths that are written")
	f.IntVar(&o.size, "size", 1024, "bytes of a body")
	f.DurationVar(&o.duration, "dur", 2*time.Second, "how long a run takes, in whole seconds")
	f.DurationVar(&o.warmUp, "warmup", time.Second, "how long each case runs before the first round, in whole seconds")
	f.IntVar(&o.rounds, "rounds", 5, "runs of each case")
	f.BoolVar(&o.quick, "quick", false, "3 rounds of 1 s, where -rounds and -dur do not say otherwise: for a first look")
	f.StringVar(&o.json, "json", "", "write all numbers to this file, too")
	f.StringVar(&o.svg, "svg", "", "draw the ratios into this file, too")
	f.StringVar(&o.markdown, "markdown", "", "write the report into this page, too, between its lines "+pageBegins+" and "+pageEnds)
	f.StringVar(&o.store, "store", storeHTTP, "the store behind all proxies: "+storeHTTP+", a server on net/http, or "+storeLight+", which costs half as much")
	f.IntVar(&o.repeats, "repeats", 2, fmt.Sprintf("how often a run is repeated in which others had more than %d %% of the CPU; 0 with -quick", busy))
	f.StringVar(&o.profile, "profile", "", "profile the fencegate cases in one more run each, into this directory")
	f.StringVar(&o.binary, "fencegate", "", "measure this binary (default: one built from the working tree)")
	f.StringVar(&o.before, "before", "", "an older binary: adds the case before, which else is left out")
	f.StringVar(&o.dir, "dir", "", "where ledgers and directories are made, on the disk to measure (default: the system's temporary directory)")
	f.StringVar(&o.play, "play", "", "internal: be this server")
	f.StringVar(&o.upstream, "upstream", "", "internal: what it forwards to")
	f.StringVar(&o.state, "state", "", "internal: the file or directory that it keeps")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.quick {
		given := map[string]bool{}
		f.Visit(func(f *flag.Flag) { given[f.Name] = true })
		if !given["dur"] {
			o.duration = time.Second
		}
		if !given["rounds"] {
			o.rounds = 3
		}
		if !given["repeats"] {
			o.repeats = 0
		}
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected %q: all arguments are flags, see -help", f.Arg(0))
	case !slices.Contains(suites, o.suite):
		return nil, fmt.Errorf("-suite: there is no %q; choose from %s", o.suite, strings.Join(suites, ", "))
	case o.conns < o.threads || o.threads < 1 || o.paths < o.threads || o.size < 0 || o.rounds < 1:
		return nil, errors.New("-threads must be 1 or more, -conns and -paths at least that many, -rounds 1 or more, -size not below 0")
	case o.repeats < 0:
		return nil, errors.New("-repeats must not be below 0")
	case o.store != storeHTTP && o.store != storeLight:
		return nil, fmt.Errorf("-store: there is no %q; choose from %s and %s", o.store, storeHTTP, storeLight)
	case min(o.duration, o.warmUp) < time.Second || (o.duration%time.Second)+(o.warmUp%time.Second) != 0:
		return nil, errors.New("-dur and -warmup must be whole seconds, 1s or more: wrk knows no others")
	case o.profile != "" && o.binary != "":
		return nil, errors.New("-profile needs a binary of its own: leave out -fencegate")
	}
	return &o, nil
}

// longestStall is how long fencegate surely bears with a stalled client, less a
// little.
const longestStall = 25 * time.Second

// choose returns the cases to run.
func (o *options) choose() ([]scene, error) {
	chosen := slices.DeleteFunc(slices.Clone(scenes), func(c scene) bool { return !c.in(o.suite) })
	if o.cases != "" {
		chosen = nil
		for name := range strings.SplitSeq(o.cases, ",") {
			i := slices.IndexFunc(scenes, func(c scene) bool { return c.name == name })
			if i < 0 {
				return nil, fmt.Errorf("-cases: there is no %q; choose from %s", name, strings.Join(names(scenes), ","))
			}
			chosen = append(chosen, scenes[i])
		}
		slices.SortStableFunc(chosen, func(a, b scene) int { // the order of the table
			return slices.Index(names(scenes), a.name) - slices.Index(names(scenes), b.name)
		})
		chosen = slices.CompactFunc(chosen, func(a, b scene) bool { return a.name == b.name })
	}
	if o.before == "" {
		chosen = slices.DeleteFunc(chosen, func(c scene) bool { return c.server == "before" })
	}
	if o.duration > longestStall && slices.ContainsFunc(chosen, func(c scene) bool { return c.stalled }) {
		return nil, fmt.Errorf("-dur %v: fencegate ends stalled clients after 30 s, so at most %v with the cases that have them", o.duration, longestStall)
	}
	if len(chosen) == 0 {
		return nil, errors.New("no case is left to run; before needs -before")
	}
	return chosen, nil
}

func names(cases []scene) (all []string) {
	for _, c := range cases {
		all = append(all, c.name)
	}
	return all
}
