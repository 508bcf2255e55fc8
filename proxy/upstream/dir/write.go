package dir

import (
	"context"
	"errors"
	"io"
	"net/http"

	"fencegate/fence"
)

// allowed is what the store offers, as in Allow.
func (d *Dir) allowed() string {
	if d.locks != nil {
		return "GET, HEAD, OPTIONS, PROPFIND, PUT, DELETE, MKCOL, COPY, MOVE, PROPPATCH, LOCK, UNLOCK"
	}
	return "GET, HEAD, OPTIONS, PUT, DELETE"
}

func (d *Dir) notOffered() error {
	own := refuse(http.StatusMethodNotAllowed, "the store does not offer this method")
	own.Header = http.Header{"Allow": {d.allowed()}}
	return own
}

// Write carries out one write whose body has arrived: DELETE, PUT for callers
// that do not use Prepare, and under WebDAV MKCOL, COPY, MOVE, PROPPATCH, LOCK
// and UNLOCK. Other methods are answered 405. Like commit it is not cancelled by
// ctx once it has started to change something: it is local and short, and half
// of it would be worse. What a COPY has gathered out of sight is dropped.
//
// What the store refuses by itself is an answer, and definite. An error comes
// with fence.NotSent if surely nothing was changed, else with fence.Uncertain:
// the change may be visible, or become so after a restart, but not later.
func (d *Dir) Write(ctx context.Context, r *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error) {
	if body == nil {
		body = http.NoBody
	}
	switch method := r.Method; {
	case method == http.MethodPut:
		s, err := d.stage(ctx, r, body, size)
		if err != nil {
			return answer(nil, fence.NotSent, err)
		}
		return d.publish(s)
	case method == http.MethodDelete:
		return answer(d.remove(r))
	case d.locks == nil:
		return answer(nil, fence.NotSent, d.notOffered())
	case method == "MKCOL":
		return answer(d.mkcol(r, body))
	case method == "COPY":
		return answer(d.copyTo(ctx, r))
	case method == "MOVE":
		return answer(d.move(r))
	case method == "PROPPATCH":
		return answer(d.proppatch(r, body))
	case method == "LOCK":
		return answer(d.lockPath(r, body))
	case method == "UNLOCK":
		return answer(d.unlockPath(r))
	default:
		return answer(nil, fence.NotSent, d.notOffered())
	}
}

// Prepare takes in the body of a PUT and makes it durable in the staging area,
// where nobody sees it. It judges only the name, not what the storage holds at
// the moment: that is commit's to judge. Then either commit, at most once, makes
// it the object, with results as of Write, or abort discards it.
//
// On an error nothing is left behind. It is a *StatusError if it is the store's
// own answer (a name it will not store, no space: 507), it wraps what
// body.Read returned, io.ErrUnexpectedEOF if the body ended before the
// request's Content-Length, or ctx's cause; anything else is the storage's
// failure.
func (d *Dir) Prepare(ctx context.Context, r *http.Request, body io.Reader) (commit func(context.Context) (*http.Response, fence.Outcome, error), abort func(), err error) {
	s, err := d.stage(ctx, r, body, r.ContentLength)
	if err != nil {
		return nil, nil, err
	}
	commit = func(context.Context) (*http.Response, fence.Outcome, error) { return d.publish(s) }
	return commit, func() { d.discard(s) }, nil
}

// writable takes a write's path apart and refuses the staging area.
func writable(path string) (name, error) {
	n, err := parsePath(path)
	if err == nil && n.reserved() {
		err = refuse(http.StatusForbidden, textReserved)
	}
	return n, err
}

// openParent opens the directory that n is in, for a write.
func (d *Dir) openParent(n name) (*folder, error) {
	if n.base == "" {
		return nil, refuse(http.StatusConflict, "this is the root of the storage")
	}
	// The staging area under another name that the file system takes for it.
	if first, err := d.root.stat(n.first()); err == nil && first.same(d.self) {
		return nil, refuse(http.StatusForbidden, textReserved)
	}
	return d.root.open(n.parent)
}

// lookUp describes what is at base in parent, nil for nothing. What is neither
// file nor directory is refused.
func lookUp(parent *folder, base string) (*info, error) {
	now, err := parent.stat(base)
	switch {
	case notExist(err):
		return nil, nil
	case err != nil:
		return nil, refused(err)
	case !now.regular() && !now.mode.IsDir():
		return nil, refuse(http.StatusForbidden, textNotRegular)
	}
	return &now, nil
}

// moved sorts an error of the rename that makes a change visible: where the
// system refused it nothing happened; otherwise it may have.
func moved(err error) (fence.Outcome, error) {
	err = refused(err)
	var own *StatusError
	if errors.As(err, &own) {
		return fence.NotSent, err
	}
	return fence.Uncertain, err
}
