package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// access tries to write past fencegate. The store is reached from here anyway,
// which says something only on another machine than fencegate's.
func access(x *exam, f *found) error {
	if x.direct == nil {
		f.know("on machines other than fencegate's own nobody may reach the store: try there with --direct, or here with the address that others use",
			"%s is reached and can be written from here, as it must be from fencegate's own host only", x.store.url)
		return nil
	}
	r, err := x.directly(http.MethodPut, "direct")
	var unreachable *unreachableError
	switch {
	case errors.As(err, &unreachable):
		f.fine("%s cannot be reached from here", x.direct.url)
		return nil
	case err != nil:
		if x.ctx.Err() == nil {
			f.fine("%s does not answer a PUT from here", x.direct.url)
		}
		return nil
	case isFenced(r):
		f.fenced(x, r)
		return nil
	case r.stored():
		f.wrong(closeIt, "PUT at %s, past fencegate, is answered %v", x.direct.url, r)
		return nil
	}
	// What cannot be created may still be removed.
	if err := x.have("direct-delete", oldContent); err != nil {
		return err
	}
	removed, err := x.directly(http.MethodDelete, "direct-delete")
	if err != nil {
		return nil
	}
	kept, err := x.here("direct-delete", oldContent)
	switch {
	case err != nil:
		return err
	case !kept || removed.stored():
		f.wrong(closeIt, "DELETE at %s, past fencegate, is answered %v", x.direct.url, removed)
	case isRefusal(r.status) && isRefusal(removed.status):
		f.fine("%s refuses PUT and DELETE from here (%v, %v)", x.direct.url, r, removed)
	default:
		f.know("give the URL at which it would be the same folder as at --upstream", "%s does not take PUT and DELETE from here (%v, %v), but does not refuse them either", x.direct.url, r, removed)
	}
	return nil
}

const closeIt = "let the store listen for fencegate only (loopback, a network of their own, a firewall, credentials that only fencegate has)"

// directly sends a write to the store past fencegate, with the same headers.
func (x *exam) directly(method, name string) (reply, error) {
	x.scratch.wrote(name)
	var body *string
	if method == http.MethodPut {
		content := "written past fencegate"
		body = &content
		x.scratch.pastFence()
	}
	return x.direct.ask(x.ctx, method, x.scratch.path(name), body)
}

// isFenced reports whether a fencegate has answered.
func isFenced(r reply) bool {
	for name := range r.header {
		if strings.HasPrefix(name, "X-Fencing-") {
			return true
		}
	}
	return false
}

func (f *found) fenced(x *exam, r reply) {
	if r.stored() {
		f.know("set policy require when every writer has a token", "a fencegate answers at %s, and lets a write without token pass (%v)", x.direct.url, r)
		return
	}
	f.fine("a fencegate answers at %s, and refuses a write without token (%v)", x.direct.url, r)
}

// isRefusal reports whether a status says that this one may not write.
func isRefusal(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired,
		http.StatusMisdirectedRequest, http.StatusNotImplemented:
		return true
	}
	return false
}

// clearDirect removes what was written past fencegate, if that is another store
// than the one that is looked at.
func (x *exam) clearDirect(ctx context.Context) (left []string) {
	if x.direct == nil || !x.scratch.past {
		return nil
	}
	path := x.scratch.path("direct")
	_, _ = x.direct.ask(ctx, http.MethodDelete, path, nil)
	_, _ = x.direct.ask(ctx, http.MethodDelete, x.scratch.folder, nil)
	if r, err := x.direct.ask(ctx, http.MethodGet, path, nil); err == nil && r.status == http.StatusOK {
		left = append(left, x.direct.url+path)
	}
	return left
}
