package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	if err := start(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	if o.play != "" {
		return play(o.play, o.upstream, o.state, o.store)
	}
	cases, err := o.choose()
	if err != nil {
		return err
	}
	if o.markdown != "" { // rather now than after all rounds
		if _, err := intoPage(o.markdown, ""); err != nil {
			return err
		}
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	dir, err := os.MkdirTemp(o.dir, "fencegate-bench-")
	if err != nil {
		return err
	}
	b := &bench{
		at:     place{dir: dir, fencegate: o.binary, before: o.before},
		load:   load{conns: o.conns, threads: o.threads, paths: o.paths, size: o.size, duration: o.duration},
		warmUp: o.warmUp, rounds: o.rounds, repeats: o.repeats, servers: map[string]*server{}, news: os.Stderr,
	}
	err = b.whole(ctx, o, cases)
	if stopped := b.stop(); err == nil {
		err = stopped
	}
	if err != nil && len(b.servers) > 0 { // what they have printed may tell more
		return fmt.Errorf("%w\nwhat was printed meanwhile is in %s", err, dir)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// whole is everything between making the work directory and removing it.
func (b *bench) whole(ctx context.Context, o *options, cases []scene) (err error) {
	if b.wrk, err = findWrk(b.at.dir); err != nil {
		return err
	}
	if b.at.fencegate == "" {
		b.at.fencegate = filepath.Join(b.at.dir, "fencegate-binary")
		if err := build(ctx, b.at, o.profile != ""); err != nil {
			return err
		}
	}
	about := describe(ctx, b.at, o)
	sink, err := startSink(ctx, b.at, sinkServer, o.store)
	if err != nil {
		return err
	}
	b.servers[sinkServer] = sink
	results, err := b.run(ctx, cases)
	if err != nil {
		return err
	}
	report := newReport(about, results)
	fmt.Print(report.table())
	if o.json != "" {
		if err := report.writeJSON(o.json); err != nil {
			return err
		}
	}
	if o.svg != "" {
		if err := os.WriteFile(o.svg, report.chart(), 0o644); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		if err := report.writeMarkdown(o.markdown); err != nil {
			return err
		}
	}
	if o.profile != "" {
		if err := b.profile(ctx, o.profile, results); err != nil {
			return err
		}
	}
	err = report.invalid()
	if o.markdown != "" {
		err = errors.Join(err, report.missing())
	}
	return err
}

// build compiles fencegate as a user does, without the race detector.
func build(ctx context.Context, at place, profiled bool) error {
	args := []string{"build", "-buildvcs=false", "-o", at.fencegate}
	if profiled {
		overlay, err := writeOverlay(ctx, at.dir)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	if out, err := exec.CommandContext(ctx, "go", append(args, "fencegate/cmd/fencegate")...).CombinedOutput(); err != nil {
		return fmt.Errorf("fencegate cannot be built: %w\n%s", err, out)
	}
	return nil
}
