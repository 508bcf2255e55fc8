package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// bench is one run of the program.
type bench struct {
	at      place
	load    load
	warmUp  time.Duration
	rounds  int
	repeats int // of one run, at most, while others use the machine
	wrk     *wrk
	servers map[string]*server
	news    io.Writer // what is going on
}

// result is what is known of one case at the end.
type result struct {
	scene   scene
	rounds  map[int]*measured // by number; one that could not be measured is missing
	invalid error             // why there are no numbers
	repeats int               // of all rounds
}

// run measures the cases. The servers it has started run on until stop.
func (b *bench) run(ctx context.Context, cases []scene) ([]*result, error) {
	var results []*result
	for _, c := range cases {
		r := &result{scene: c, rounds: map[int]*measured{}}
		results = append(results, r)
		if err := b.start(ctx, c.server); err != nil {
			return nil, err
		}
		if err := b.warm(ctx, r); err != nil {
			return nil, err
		}
	}
	for round := range b.rounds {
		fmt.Fprintf(b.news, "round %d of %d\n", round+1, b.rounds)
		for _, r := range inTurn(results, round) {
			if r.invalid != nil {
				continue
			}
			if err := b.calmly(ctx, r, round); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// busy is the share of the CPU, in per cent, that others may have in a run that
// counts. pause is how long to wait for them.
const (
	busy  = 8
	pause = time.Second
)

// calmly measures a case, and again if others had too much of the CPU. The calmest
// run is kept. Where others go on, the repeats of a case end at one for each round.
func (b *bench) calmly(ctx context.Context, r *result, round int) error {
	for tried := 0; ; tried++ {
		var last *measured
		if err := b.once(ctx, r, r.scene.shape(b.load), func(m *measured) { last = m }); err != nil || last == nil {
			return err
		}
		if kept := r.rounds[round]; kept == nil || last.Others < kept.Others {
			r.rounds[round] = last
		}
		r.rounds[round].Repeats = tried
		if b.enough(r, last, tried) {
			return nil
		}
		r.repeats++
		fmt.Fprintf(b.news, "%s again: others had %.0f %% of the CPU\n", r.scene.name, last.Others)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enough tells whether a run that was repeated so often is not to be repeated again.
func (b *bench) enough(r *result, last *measured, tried int) bool {
	slow := r.scene.slow > 0 // strace, which slows the disk, counts as others
	return last.Others <= busy || tried == b.repeats || r.repeats == b.rounds || slow
}

// inTurn returns the order of a round: what drifts in one direction during a
// round does so in the other one during the next.
func inTurn(results []*result, round int) []*result {
	turn := slices.Clone(results)
	if round%2 == 1 {
		slices.Reverse(turn)
	}
	return turn
}

// warm prepares a case, and runs it without keeping the numbers.
func (b *bench) warm(ctx context.Context, r *result) error {
	s, l := b.servers[r.scene.server], r.scene.shape(b.load)
	if r.scene.files {
		if err := makeFolders(s.files(), l); err != nil {
			return err
		}
	}
	if r.scene.seed > 0 {
		if err := seed(ctx, s, l, r.scene.seed); err != nil {
			r.invalid = err
			return nil
		}
		if err := b.late(ctx, r.scene, l); err != nil {
			r.invalid = err
			return nil
		}
	}
	if r.scene.figure() { // it is not faster when it is warm
		return nil
	}
	short := l
	short.duration = b.warmUp
	return b.once(ctx, r, short, func(*measured) {})
}

// once measures and keeps a run, or makes the case invalid.
func (b *bench) once(ctx context.Context, r *result, l load, keep func(*measured)) error {
	m, err := b.measure(ctx, r.scene, l)
	var wrong wrongError
	if errors.As(err, &wrong) && ctx.Err() == nil {
		r.invalid, r.rounds = wrong, nil
		fmt.Fprintf(b.news, "%s is invalid: %v\n", r.scene.name, wrong)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.scene.name, err)
	}
	keep(m)
	return nil
}

// start starts a server, and before it the one that it needs, unless they run.
func (b *bench) start(ctx context.Context, name string) error {
	if b.servers[name] != nil {
		return nil
	}
	r, at := recipes[name], b.at
	at.store = b.servers[sinkServer].addr
	if r.store != "" {
		if err := b.start(ctx, r.store); err != nil {
			return err
		}
		at.store = b.servers[r.store].addr
	}
	fmt.Fprintf(b.news, "starting %s\n", name)
	s, err := r.start(ctx, at, name)
	if err != nil {
		return err
	}
	s.store = b.servers[r.store]
	b.servers[name] = s
	return nil
}

// sinkOf returns the sink that a server's writes end in.
func (b *bench) sinkOf(s *server) *server {
	if s.store != nil && s.store.sink {
		return s.store
	}
	return b.servers[sinkServer]
}

// stop ends all servers, those behind others last.
func (b *bench) stop() error {
	behind := func(name string) bool {
		for _, r := range recipes {
			if r.store == name {
				return true
			}
		}
		return name == sinkServer
	}
	var errs []error
	for _, last := range []bool{false, true} {
		for name, s := range b.servers {
			if behind(name) == last {
				errs = append(errs, s.stop())
			}
		}
	}
	return errors.Join(errs...)
}

// sinkServer is the sink that all have which do not name another.
const sinkServer = "sink"
