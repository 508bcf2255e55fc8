package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// idleConnection sees how long the store keeps a connection that is not used.
func idleConnection(x *exam, f *found) error {
	if err := x.have("idle", oldContent); err != nil {
		return err
	}
	w, r, err := x.kept("idle")
	if err != nil {
		return err
	}
	defer w.close()
	if r.closes {
		f.fine("none: each answer says that its connection ends")
		return nil
	}
	defer w.endWith(x.ctx)()
	began := time.Now()
	w.allow(x.pace.idle)
	_, err = w.in.Peek(1)
	d := time.Since(began)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f.fine("kept for more than %v", x.pace.idle)
		return nil
	}
	if err == nil {
		f.wrong("find out what it is; fencegate gives such a connection up", "the store sends something unasked after %v", rounded(d))
		return nil
	}
	idle := min(usualIdle, (d / 2).Truncate(100*time.Millisecond))
	x.report.advise(func(a *advice) { a.UpstreamIdle = min(a.UpstreamIdle, idle) })
	if idle < usualIdle {
		f.wrong(fmt.Sprintf("set upstream_idle: %v, or have the store keep them for 5s or more", idle), "closed after %v", rounded(d))
		return nil
	}
	f.fine("closed after %v, later than fencegate does", rounded(d))
	return nil
}

// kept reads an object on a connection that stays open.
func (x *exam) kept(name string) (*wire, reply, error) {
	w, err := x.store.dial(x.ctx)
	if err != nil {
		return nil, reply{}, err
	}
	r, err := w.again(x, name)
	if err != nil {
		w.close()
		return nil, r, err
	}
	return w, r, nil
}

func (w *wire) again(x *exam, name string) (reply, error) {
	if err := w.send(x.store.head(http.MethodGet, x.scratch.path(name), noBody)); err != nil {
		return reply{}, err
	}
	return w.receive(http.MethodGet, x.pace.answer)
}

// manyOnOne is how many requests one connection is given.
const manyOnOne = 120

// manyRequests sees whether a store ends connections without saying so.
func manyRequests(x *exam, f *found) error {
	if err := x.have("many", oldContent); err != nil {
		return err
	}
	w, r, err := x.kept("many")
	if err != nil {
		return err
	}
	defer w.close()
	n := 1
	for began := time.Now(); n < manyOnOne && !r.closes && time.Since(began) < x.pace.idle; n++ {
		if r, err = w.again(x, "many"); err != nil {
			x.report.advise(func(a *advice) { a.UpstreamIdle = 0 })
			f.wrong("set upstream_idle: 0s, or have the store say Connection: close when it does", "the store closes after %d on one connection, and does not say so", n)
			return nil
		}
	}
	if r.closes {
		f.fine("the store closes after %d on one connection, and says so", n)
		return nil
	}
	f.fine("%d on one connection", n)
	return nil
}

// bodySizes are declared, never sent.
var bodySizes = []int64{1 << 20, 16 << 20, 256 << 20, 4 << 30}

// largeBodies declares bodies and sees which are refused before they come.
func largeBodies(x *exam, f *found) error {
	var taken int64
	for _, size := range bodySizes {
		r, answered, err := x.declare("large", size)
		switch {
		case err != nil:
			return err
		case !answered:
			taken = size
			continue
		}
		do := "have the store accept what clients may send: the outcome of what it refuses early is unknown, and the next holder waits for settle"
		if taken > 0 {
			x.report.advise(func(a *advice) { a.MaxBody = taken })
			do += "; or limit bodies here, with max_body"
		}
		f.wrong(do, "%s is answered %v before it came; %s is not", inMiB(size), r, inMiB(taken))
		return nil
	}
	f.fine("%s is taken", inMiB(taken))
	return nil
}

// declare sends the head of an upload, and breaks it off unless it is answered
// at once.
func (x *exam) declare(name string, size int64, more ...string) (r reply, answered bool, err error) {
	x.scratch.wrote(name)
	w, err := x.store.dial(x.ctx)
	if err != nil {
		return r, false, err
	}
	defer w.reset()
	if err := w.send(x.store.head(http.MethodPut, x.scratch.path(name), size, more...)); err != nil {
		return r, false, err
	}
	r, err = w.receive(http.MethodPut, x.pace.early)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return r, false, x.ctx.Err()
	}
	return r, err == nil, err
}

// expectContinue asks to be told to send a body.
func expectContinue(x *exam, f *found) error {
	x.scratch.wrote("expect")
	w, err := x.store.dial(x.ctx)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.send(x.store.head(http.MethodPut, x.scratch.path("expect"), 3, "Expect: 100-continue")); err != nil {
		return err
	}
	w.allow(x.pace.early)
	start, err := w.in.Peek(len("HTTP/1.1 100"))
	said := "100 first"
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		said = "no 100"
	case err != nil:
		return err
	case string(start[len(start)-3:]) != "100":
		r, err := w.receive(http.MethodPut, x.pace.answer)
		if err != nil {
			return err
		}
		f.know("nothing has to be done", "answered %v before the body", r)
		return nil
	}
	if err := w.send("new"); err != nil {
		return err
	}
	r, err := w.receive(http.MethodPut, x.pace.answer)
	if err != nil {
		return err
	}
	f.fine("%s, then %v", said, r)
	return nil
}
