package dir

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

// transfer is a COPY or MOVE.
type transfer struct {
	from, to  name
	depth     dav.Depth // Zero: of a directory only itself
	overwrite bool
	when      demands
}

const textChanged = "the storage changed while this was under way, and nothing was done: try again"

// transferOf reads a COPY or MOVE. The path of Destination counts from the root,
// like the request's own; the proxy has looked at the rest.
func (d *Dir) transferOf(r *http.Request) (t transfer, err error) {
	if r.Method == "MOVE" {
		t.from, err = writable(r.URL.Path)
		err = missing(err)
	} else {
		t.from, err = readable(r.URL.Path)
	}
	if err != nil {
		return t, err
	}
	ref, err := dav.ParseDestination(r.Header)
	if err == nil {
		t.overwrite, err = dav.ParseOverwrite(r.Header)
	}
	if err == nil {
		t.depth, err = dav.ParseDepth(r.Header, dav.Infinity)
	}
	if err == nil && (t.depth == dav.One || t.depth == dav.Zero && r.Method == "MOVE") {
		err = errors.New("the Depth is wrong: COPY knows 0 and infinity, MOVE infinity only")
	}
	if err != nil {
		return t, badRequest(err)
	}
	if t.to, err = nameOfHref(ref.Path); err != nil {
		return t, err
	}
	if t.to.reserved() {
		return t, refuse(http.StatusForbidden, textReserved)
	}
	if t.when, err = d.demandsOf(r.Header); err != nil {
		return t, err
	}
	from, to := d.locks.key(t.from.path()), d.locks.key(t.to.path())
	switch {
	case t.to.base == "":
		err = refuse(http.StatusForbidden, "the root of the storage cannot be replaced")
	case r.Method == "MOVE" && t.from.base == "":
		err = refuse(http.StatusForbidden, "the root of the storage cannot be moved")
	case from == to:
		err = refuse(http.StatusForbidden, "source and destination are the same")
	case isBelow(to, from) && t.depth == dav.Infinity:
		err = refuse(http.StatusForbidden, "the destination is inside the source")
	case isBelow(from, to):
		err = refuse(http.StatusForbidden, "the destination contains the source")
	}
	return t, err
}

// arrival opens the directory of the destination and describes what is there
// now, nil for nothing, if the transfer may replace it. It is called with tree
// held.
func (d *Dir) arrival(t transfer) (parent *folder, old *info, err error) {
	if err := d.judgeIf(t.when, t.from); err != nil {
		return nil, nil, err
	}
	parent, err = d.openParent(t.to)
	if notExist(err) {
		return nil, nil, refuse(http.StatusConflict, textNoParent)
	}
	if err != nil {
		return nil, nil, refused(err)
	}
	old, err = lookUp(parent, t.to.base)
	switch {
	case err != nil:
	case old != nil && !t.overwrite:
		err = refuse(http.StatusPreconditionFailed, "there is something at the destination already, and Overwrite is F")
	default:
		err = d.judgeLocks(t.when, t.to, change{comes: old == nil, tree: true})
	}
	if err != nil {
		return nil, nil, errors.Join(err, parent.close())
	}
	return parent, old, nil
}

// swapped sorts an error of the rename that ends a transfer.
func swapped(err error) (fence.Outcome, error) {
	switch {
	case errors.Is(err, syscall.EEXIST):
		return fence.NotSent, &StatusError{Status: http.StatusConflict, Text: textChanged, Err: err}
	case errors.Is(err, syscall.EINVAL): // another name of the source, by the file system's rules
		return fence.NotSent, &StatusError{Status: http.StatusForbidden, Text: "the destination is inside the source", Err: err}
	}
	return moved(err)
}

// settle makes the destination durable; from is nil, or what the source was in.
func (t transfer) settle(to, from *folder) (fence.Outcome, error) {
	err := to.sync()
	if from != nil && t.from.parent != t.to.parent {
		err = errors.Join(err, from.sync())
	}
	if err != nil {
		return fence.Uncertain, fmt.Errorf("the destination was replaced, perhaps not durably: %w", err)
	}
	return fence.Definite, nil
}

// transferred is the answer; old is what was at the destination.
func transferred(old *info) (*http.Response, fence.Outcome, error) {
	if old == nil {
		return response(http.StatusCreated, http.Header{}, ""), fence.Definite, nil
	}
	return response(http.StatusNoContent, http.Header{}, ""), fence.Definite, nil
}

// throwAway removes what is in the staging area under that name, a tree perhaps.
// What cannot be removed now is swept by the next Open.
func (d *Dir) throwAway(base string) {
	if err := d.staged.rename(base, d.trash, d.newName()); err == nil {
		d.wakeEmptying()
	}
}

// at is a path below a name, "" being the name itself.
func (n name) at(rel string) string { return strings.TrimSuffix(n.rel()+"/"+rel, "/") }
