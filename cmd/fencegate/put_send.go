package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// writer sends uploads.
type writer struct {
	fence  string
	client *http.Client
	header http.Header
	wait   time.Duration
	lease  context.Context // ends with the lock, if it is put's own

	root *string         // of a whole directory at the store; nil: one file
	made map[string]bool // folders there
}

// use sets the way that requests go. A redirect is not followed: it would show
// the owner to another server.
func (w *writer) use(via http.RoundTripper, lease context.Context) {
	w.client, w.lease = &http.Client{Transport: via, CheckRedirect: direct.CheckRedirect}, lease
}

// attempt is what became of one request.
type attempt struct {
	code  int
	err   error
	again bool          // it was not sent on, and can be sent again
	after time.Duration // not before
	// noFolder: the store has none for it, and has stored nothing.
	noFolder bool
}

// all sends uploads in turn, and returns what went wrong.
func (w *writer) all(ctx context.Context, uploads []upload, faults *putFaults) error {
	for _, u := range uploads {
		a := w.one(ctx, u)
		if a.noFolder && w.root != nil {
			if err := w.makeFolders(ctx, *w.root, u.path); err != nil {
				a.err = fmt.Errorf("%w; %w", a.err, err)
			} else {
				a = w.one(ctx, u)
			}
		}
		if a.err == nil {
			continue
		}
		faults = faults.add(a.code, fmt.Errorf("%q to %s: %w", u.file, u.path, inOneLine(a.err)))
		if a.code == exitLost || a.code == exitUnavailable || a.code == exitHeld || ctx.Err() != nil {
			break
		}
	}
	return faults.err()
}

// one sends a file, again as long as the fence says that it was not sent on.
func (w *writer) one(ctx context.Context, u upload) attempt {
	deadline := time.Now().Add(w.wait)
	for {
		a := w.try(ctx, u)
		if !a.again {
			return a
		}
		pause := min(max(a.after, 100*time.Millisecond), time.Second)
		if time.Now().Add(pause).After(deadline) {
			a.err = fmt.Errorf("not within %s: %w", w.wait, a.err)
			return a
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return attempt{code: toldCode(ctx), err: fmt.Errorf("%w; nothing took effect, the fence has answered %w", context.Cause(ctx), a.err)}
		case <-w.lease.Done():
			return attempt{code: exitLost, err: fmt.Errorf("%w; nothing took effect", context.Cause(w.lease))}
		}
	}
}

// try sends a file once.
func (w *writer) try(ctx context.Context, u upload) attempt {
	s, err := openPayload(ctx, w.lease, u)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return attempt{code: toldCode(ctx), err: err}
	case w.lease.Err() != nil:
		return attempt{code: exitLost, err: err}
	default:
		return attempt{code: exitNoInput, err: err}
	}
	defer s.done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })()
	// What is sent whole is left alone: the fence decides by its token, and will
	// say how. To cut it would leave that in doubt.
	defer context.AfterFunc(w.lease, func() {
		if !s.isWhole() {
			cancel(context.Cause(w.lease))
		}
	})()
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	r, err := http.NewRequestWithContext(traced, http.MethodPut, w.fence+u.path, s)
	if err != nil {
		return attempt{code: exitUsage, err: err}
	}
	if r.ContentLength = s.size; s.size == 0 {
		r.Body = http.NoBody
	}
	r.Header = w.header.Clone()
	res, err := w.client.Do(r)
	if err != nil {
		return putError(ctx, err, s, sent.Load())
	}
	defer res.Body.Close()
	a := putAnswer(res)
	if a.again = a.again && s.repeatable(); a.err == nil {
		if err := s.changed(); err != nil {
			return attempt{code: exitNoInput, err: err}
		}
	}
	return a
}
