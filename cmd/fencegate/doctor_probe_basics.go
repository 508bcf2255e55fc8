package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// basics makes the folder and sees that an answer comes after its effect.
func basics(x *exam, f *found) error {
	name := "basic"
	if x.webdav {
		if r, err := x.makeScratch(); err != nil {
			return err
		} else if r.status != http.StatusCreated {
			f.wrong(refusedWhy(r), "MKCOL is answered %v", r)
			return nil
		}
	}
	r, err := x.put(name, "first")
	if err == nil && !r.stored() && !x.webdav && r.status/100 == 4 { // it may want the folder first
		if made, mkcolErr := x.makeScratch(); mkcolErr == nil && made.status == http.StatusCreated {
			r, err = x.put(name, "first")
		}
	}
	switch {
	case err != nil:
		return err
	case !r.stored():
		f.wrong(refusedWhy(r), "PUT is answered %v", r)
		return nil
	}
	// What comes later than its answer must not come in between.
	if _, err := x.await(min(x.settle, x.pace.answer), name, "first"); err != nil && !errors.Is(err, errNotThere) {
		return err
	}
	const rounds = 5
	var longest time.Duration
	for i := range rounds {
		content := fmt.Sprint("round ", i)
		if r, err = x.put(name, content); err != nil {
			return err
		}
		now, err := x.get(name)
		if err != nil {
			return err
		}
		if now.is(content) {
			continue
		}
		d, err := x.await(x.settle, name, content)
		if errors.Is(err, errNotThere) {
			f.wrong("see what the store does with a PUT; does something stand in front of it, such as a cache?", "PUT is answered %v, but a GET does not show it within %v", r, x.settle)
			return nil
		}
		if err != nil {
			return err
		}
		longest = max(longest, d)
	}
	x.lag = longest
	accepted := r.status == http.StatusAccepted
	deleted, err := x.delete(name)
	if err != nil {
		return err
	}
	gone, err := x.get(name)
	if err != nil {
		return err
	}
	if !deleted.stored() || gone.status == http.StatusOK && deleted.status != http.StatusAccepted {
		f.wrong("let the store carry a DELETE out before it answers, or set no DELETE free to clients", "DELETE is answered %v, and then GET %v", deleted, gone)
		return nil
	}
	switch {
	case accepted:
		f.know("let the store answer when it has stored: after a 202 the outcome is unknown, and the next holder waits for settle each time", "PUT is answered 202, and seen after %v", rounded(longest))
		x.settleFor(longest)
	case longest > 0:
		f.wrong("no setting helps: find what answers before it has stored (a queue, a write-back cache, a replica that is read), and turn it off", "PUT is answered %v before it takes effect: a GET shows it up to %v later", r, rounded(longest))
	default:
		f.fine("an answer comes after its effect (%v, then %v)", r, deleted)
	}
	if gone.http10 {
		f.know("nothing has to be done; each request needs a connection of its own", "answers are HTTP/1.0")
	}
	return nil
}

// makeScratch makes the folder as WebDAV does.
func (x *exam) makeScratch() (reply, error) {
	x.scratch.wrote("basic")
	return x.store.ask(x.ctx, "MKCOL", x.scratch.folder, nil)
}

// refusedWhy says what to do about a store that does not take a write.
func refusedWhy(r reply) string {
	switch {
	case r.status/100 == 3:
		return "give as --upstream the place where it redirects to: fencegate follows no redirect, and clients that do go around it"
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, r.status == http.StatusProxyAuthRequired:
		return "give credentials with --header, or with --scratch a folder that may be written"
	case r.status == http.StatusMethodNotAllowed, r.status == http.StatusNotImplemented:
		return "turn on writing in the store, or give another --protocol"
	}
	return "find out why; a folder that exists, and may be written, can be given with --scratch"
}

// settleFor recommends a settle that is far above what was seen.
func (x *exam) settleFor(late time.Duration) {
	x.report.advise(func(a *advice) { a.Settle = max(a.Settle, (4*late).Truncate(time.Second)+time.Second) })
}

func rounded(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// missingParent stores below a folder that is not there.
func missingParent(x *exam, f *found) error {
	x.scratch.wrote("absent/")
	x.scratch.wrote("absent/parent/")
	r, err := x.put("absent/parent/object", "child")
	switch {
	case err != nil:
		return err
	case r.stored():
		f.fine("PUT makes it (%v)", r)
	case x.webdav:
		f.fine("PUT is refused (%v): clients make folders with MKCOL", r)
	default:
		f.know("make the folders beforehand, or use protocol webdav: clients of plain cannot", "PUT is refused (%v)", r)
	}
	return nil
}

// versions looks at what readers go by.
func versions(x *exam, f *found) error {
	var tags []string
	for _, content := range []string{"0123456789", "abcdefghij"} {
		if err := x.have("version", content); err != nil {
			return err
		}
		r, err := x.get("version")
		if err != nil {
			return err
		}
		tags = append(tags, r.header.Get("ETag"))
	}
	part, err := x.get("version", "Range: bytes=2-4")
	if err != nil {
		return err
	}
	switch {
	case part.status == http.StatusPartialContent && part.content != "cde", part.status == http.StatusOK && part.content != "abcdefghij":
		f.wrong("clients must not ask for ranges", "a Range is answered %v with other bytes than were asked for", part)
	case tags[0] == "" || tags[1] == "":
		f.know("clients cannot use If-Match; the lock does that", "no ETag; a Range is answered %v", part)
	case tags[0] == tags[1]:
		f.know("clients must not rely on If-Match; the lock does that", "two contents, stored shortly after one another, have the same ETag")
	default:
		f.fine("an ETag for each content; a Range is answered %v", part)
	}
	return nil
}
