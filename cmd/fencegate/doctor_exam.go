package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"fencegate/fence"
)

// examPace is how long things are waited for.
type examPace struct {
	answer time.Duration // for an answer
	cut    time.Duration // for what a broken upload leaves behind
	idle   time.Duration // for the end of an unused connection
	early  time.Duration // for an answer to a head
	part   time.Duration // for a store to take in what it was sent
}

var usualPace = examPace{answer: 10 * time.Second, cut: 2 * time.Second, idle: 10 * time.Second, early: 500 * time.Millisecond, part: 100 * time.Millisecond}

// usualIdle is serve's default for upstream_idle.
const usualIdle = 2 * time.Second

// exam is one look at a store behind HTTP. Probes may run at the same time; each
// has names of its own.
type exam struct {
	ctx    context.Context
	report *diagnosis
	pace   examPace
	store  *peer
	direct *peer // nil if it is not looked at
	settle time.Duration
	webdav bool
	stream bool
	names  fence.NameOptions

	scratch *scratch
	lag     time.Duration // of effects behind their answers
}

// run goes through all probes, and clears up.
func (x *exam) run() (err error) {
	first, err := x.store.dial(x.ctx)
	if err != nil {
		return err
	}
	if x.store.tls != nil { // dial has verified it
		x.report.add("certificate", []finding{{Result: "verified for " + x.store.name, Verdict: verdictOK}})
	}
	first.close()
	defer func() {
		x.report.Left, x.report.MayAppear = x.clear()
	}()
	if x.scratch.before, err = x.store.ask(x.ctx, http.MethodGet, x.scratch.folder, nil); err != nil {
		return &unreachableError{x.store.url, err}
	}
	if x.scratch.before.status == http.StatusOK && !x.webdav {
		x.report.add("folder", []finding{{Result: "a GET of a folder that nobody has made is answered 200", Verdict: verdictNote}})
	}
	for _, p := range groundwork {
		if !p.apply(x) {
			return x.ctx.Err()
		}
	}
	results := make([][]finding, len(probes))
	var aside sync.WaitGroup
	for i, p := range probes {
		if p.aside && p.wanted(x) {
			aside.Go(func() { results[i] = p.look(x) })
		}
	}
	for i, p := range probes {
		if !p.aside && p.wanted(x) {
			results[i] = p.look(x)
		}
	}
	aside.Wait()
	if x.ctx.Err() != nil {
		return x.ctx.Err()
	}
	for i, p := range probes {
		x.report.add(p.name, results[i])
	}
	x.report.add("late effect", x.laterThanSettle())
	if w, err := x.store.dial(x.ctx); err != nil { // what the probes saw was its end
		return err
	} else {
		w.close()
	}
	return nil
}

func (x *exam) put(name, content string, more ...string) (reply, error) {
	x.scratch.wrote(name)
	return x.store.ask(x.ctx, http.MethodPut, x.scratch.path(name), &content, more...)
}

func (x *exam) get(name string, more ...string) (reply, error) {
	return x.store.ask(x.ctx, http.MethodGet, x.scratch.path(name), nil, more...)
}

func (x *exam) delete(name string) (reply, error) {
	return x.store.ask(x.ctx, http.MethodDelete, x.scratch.path(name), nil)
}

// have stores something for a probe to begin with.
func (x *exam) have(name, content string) error {
	r, err := x.put(name, content)
	if err != nil {
		return err
	}
	if !r.stored() {
		return fmt.Errorf("PUT is answered %v", r)
	}
	_, err = x.await(x.pace.answer, name, content)
	return err
}

// folder makes one, where stores know such a thing.
func (x *exam) folder(name string) error {
	x.scratch.wrote(name)
	_, err := x.store.ask(x.ctx, "MKCOL", x.scratch.path(name), nil)
	return err
}

var errNotThere = errors.New("what was stored is not there")

// await looks until a name has some content, and returns how long that took. The
// error is errNotThere if it has it not within d.
func (x *exam) await(d time.Duration, name, content string) (time.Duration, error) {
	began := time.Now()
	for wait := 2 * time.Millisecond; ; wait = min(wait*3/2, 250*time.Millisecond) {
		asked := time.Since(began)
		r, err := x.get(name)
		switch {
		case err != nil:
			return asked, err
		case r.is(content):
			return asked, nil
		case asked > d:
			return asked, errNotThere
		}
		if err := x.sleep(wait); err != nil {
			return asked, err
		}
	}
}

// sleep lets time pass.
func (x *exam) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-x.ctx.Done():
		return x.ctx.Err()
	}
}

// filled is content of a size that is told from others by its first bytes.
func filled(what string, size int) string {
	return what + strings.Repeat(".", size-len(what))
}
