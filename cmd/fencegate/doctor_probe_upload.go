package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// brokenBody is an upload that is broken off in the middle.
type brokenBody struct {
	name    string
	chunked bool
	reset   bool
	old     bool // there is an object already
	damage  string
}

// partSize is how much of an upload arrives, which is half of it.
const partSize = 256 << 10

const oldContent = "the old content"

// brokenUpload cuts uploads by FIN and by RST, with a length and in chunks, and
// sees whether a part of them is kept.
func brokenUpload(x *exam, f *found) error {
	var all []*brokenBody
	for _, framing := range []string{"length", "chunks"} {
		for _, end := range []string{"fin", "rst"} {
			for _, kind := range []string{"old", "new"} {
				all = append(all, &brokenBody{
					name: "cut-" + framing + "-" + end + "-" + kind, chunked: framing == "chunks", reset: end == "rst", old: kind == "old",
				})
			}
		}
	}
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, u := range all {
		running.Go(func() { errs[i] = u.run(x) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var damages []string
	for _, u := range all {
		if u.damage != "" {
			damages = append(damages, u.damage)
		}
	}
	if damages == nil {
		f.fine("cut in the middle (FIN, RST; with length, in chunks), it leaves nothing, and an old object whole")
		return nil
	}
	slices.Sort(damages)
	damages = slices.Compact(damages)
	x.report.advise(func(a *advice) { a.Body = "stage" })
	v := verdictNote
	if x.stream {
		v = verdictUnsafe
	}
	f.add(v, "use body: stage, which sends only what has arrived whole; where fencegate itself is killed while it sends, a part may be left until the next holder writes",
		"unsafe for body: stream: %s", strings.Join(damages, "; "))
	return nil
}

func (u *brokenBody) run(x *exam) error {
	if u.old {
		if err := x.have(u.name, oldContent); err != nil {
			return err
		}
	}
	w, err := x.store.dial(x.ctx)
	if err != nil {
		return err
	}
	defer w.close()
	part := filled("part", partSize)
	size := int64(2 * partSize)
	if u.chunked {
		size, part = chunked, chunk(part)
	}
	// A store that refuses it at once leaves nothing either.
	x.scratch.awaits(u.name)
	_ = w.send(x.store.head(http.MethodPut, x.scratch.path(u.name), size) + part)
	if err := x.sleep(x.pace.part); err != nil {
		return err
	}
	if err := u.check(x, "while an upload is on its way"); err != nil {
		return err
	}
	how := "after FIN"
	if u.reset {
		how = "after RST"
		w.reset()
	} else {
		w.close()
	}
	for began := time.Now(); u.damage == "" && time.Since(began) < x.pace.cut; {
		if err := u.check(x, how); err != nil {
			return err
		}
		if err := x.sleep(100 * time.Millisecond); err != nil {
			return err
		}
	}
	x.scratch.arrived(u.name)
	return nil
}

// check sees whether the object is as it was before the upload.
func (u *brokenBody) check(x *exam, when string) error {
	r, err := x.get(u.name)
	switch {
	case err != nil:
		return err
	case u.old && r.is(oldContent), !u.old && r.status != http.StatusOK:
	case r.status != http.StatusOK:
		u.damage = "the old object is gone " + when
	case u.old:
		u.damage = "the old object is replaced by a part " + when
	default:
		u.damage = "a part of a new object is there " + when
	}
	if u.damage != "" && u.chunked {
		u.damage += " in chunks"
	}
	return nil
}

// lateEffect sends whole writes, ends the connection before the answer, and
// sees when they take effect.
func lateEffect(x *exam, f *found) error {
	ends := []struct {
		name, what string
		end        func(*wire)
	}{{"late-reset", "reset", (*wire).reset}, {"late-close", "closed", (*wire).close}}
	results, errs := make([]string, len(ends)), make([]error, len(ends))
	var longest time.Duration
	var mu sync.Mutex
	var running sync.WaitGroup
	for i, e := range ends {
		running.Go(func() {
			d, err := x.late(e.name, e.end)
			switch {
			case errors.Is(err, errNotThere):
				results[i] = fmt.Sprintf("%s: no effect within %v", e.what, x.settle)
			case err != nil:
				errs[i] = err
			default:
				results[i] = fmt.Sprintf("%s: effect within %v", e.what, max(time.Millisecond, rounded(d)))
				x.scratch.arrived(e.name)
				mu.Lock()
				longest = max(longest, d)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	x.settleFor(longest)
	if 4*longest > x.settle {
		f.know("take the settle below, and more if the store can be busier than now", "%s", strings.Join(results, "; "))
		return nil
	}
	f.fine("%s", strings.Join(results, "; "))
	return nil
}

// late sends all but the last byte, gives that time to arrive, and then the
// last byte and the end of the connection in one go.
func (x *exam) late(name string, end func(*wire)) (time.Duration, error) {
	w, err := x.store.dial(x.ctx)
	if err != nil {
		return 0, err
	}
	defer w.close()
	content := lateContent(name)
	x.scratch.wrote(name)
	if err := w.send(x.store.head(http.MethodPut, x.scratch.path(name), int64(len(content))) + content[:len(content)-1]); err != nil {
		return 0, err
	}
	if err := x.sleep(x.pace.part); err != nil {
		return 0, err
	}
	x.scratch.awaits(name)
	if err := w.send(content[len(content)-1:]); err != nil {
		return 0, err
	}
	end(w)
	return x.await(x.settle, name, content)
}

func lateContent(name string) string { return "whole: " + name }

// laterThanSettle looks once more for what had not taken effect within settle.
func (x *exam) laterThanSettle() []finding {
	f := &found{probe: probe{name: "late effect", fault: verdictUnsafe}}
	for _, name := range x.scratch.awaited() {
		if r, err := x.get(name); err == nil && r.is(lateContent(name)) {
			f.wrong("try again with a longer --settle, and set settle far above what it then finds", "a write took effect later than %v after its connection had ended", x.settle)
		}
		if x.ctx.Err() == nil {
			x.scratch.arrived(name)
		}
	}
	return f.lines
}

// slowUpload lets one write be overtaken by another.
func slowUpload(x *exam, f *found) error {
	if err := x.have("slow", oldContent); err != nil {
		return err
	}
	w, err := x.store.dial(x.ctx)
	if err != nil {
		return err
	}
	defer w.close()
	slow := filled("slow", 64<<10)
	if err := w.send(x.store.head(http.MethodPut, x.scratch.path("slow"), int64(len(slow))) + slow[:len(slow)/2]); err != nil {
		return err
	}
	if err := x.sleep(x.pace.part); err != nil {
		return err
	}
	fast, err := x.put("slow", "fast")
	if err != nil {
		return err
	}
	if err := w.send(slow[len(slow)/2:]); err != nil {
		return err
	}
	r, err := w.receive(http.MethodPut, x.pace.answer)
	if err != nil {
		return err
	}
	now, err := x.get("slow")
	if err != nil {
		return err
	}
	switch {
	case now.is(slow):
		f.fine("the slow one began first, ended last, and replaced the newer (%v, then %v): what the fence prevents", fast, r)
	case now.is("fast"):
		f.fine("the newer one stays (%v, then %v)", fast, r)
	default:
		f.wrong("the store mixes writes to one object; fencegate sends one at a time", "neither content is there (%v, then %v)", fast, r)
	}
	return nil
}
