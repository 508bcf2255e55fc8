package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

// lockPath answers LOCK. Tree is held alone, so that no write which found no lock
// is still under way when the lock is given.
func (d *Dir) lockPath(r *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
	n, err := writable(r.URL.Path)
	if err != nil {
		return nil, fence.NotSent, err
	}
	when, err := d.demandsOf(r.Header)
	if err != nil {
		return nil, fence.NotSent, err
	}
	lasts := dav.ParseTimeout(r.Header, maxLockTime)
	if lasts == 0 {
		lasts = maxLockTime
	}
	want, ok, err := dav.ReadLockInfo(body)
	switch {
	case err != nil:
		return nil, fence.NotSent, badRequest(err)
	case !ok:
		return d.refreshLock(n, when, lasts)
	case len(want.Owner) > maxOwner:
		return nil, fence.NotSent, refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the owner of a lock is longer than %d bytes", maxOwner))
	}
	depth, err := dav.ParseDepth(r.Header, dav.Infinity)
	if err == nil && depth == dav.One {
		err = errors.New("LOCK knows Depth 0 and infinity")
	}
	if err != nil {
		return nil, fence.NotSent, badRequest(err)
	}
	d.tree.Lock()
	defer d.tree.Unlock()
	now, err := d.lookFor(n)
	if err != nil {
		return nil, fence.NotSent, err
	}
	if err := when.judge(now); err != nil {
		return nil, fence.NotSent, err
	}
	if err := d.judgeIf(when, n); err != nil {
		return nil, fence.NotSent, err
	}
	if root := d.locks.conflict(n.path(), want.Shared, depth == dav.Infinity); root != "" {
		return nil, fence.NotSent, locked("no-conflicting-lock", root, "there is a lock already, on "+root)
	}
	status := http.StatusOK
	if now == nil {
		if o, err := d.makeEmpty(n, when); err != nil {
			return nil, o, err
		}
		status = http.StatusCreated
	}
	lock, err := d.locks.add(davLock{path: n.path(), shared: want.Shared, infinite: depth == dav.Infinity, owner: want.Owner}, lasts)
	if err != nil {
		return nil, fence.NotSent, err
	}
	res := d.describeLocks(status, n)
	res.Header.Set("Lock-Token", "<"+lock.token+">")
	return res, fence.Definite, nil
}

// refreshLock lets the lock whose token is in If last anew.
func (d *Dir) refreshLock(n name, when demands, lasts time.Duration) (*http.Response, fence.Outcome, error) {
	if len(when.tokens) == 0 {
		return nil, fence.NotSent, refuse(http.StatusBadRequest, "LOCK without a body refreshes a lock, whose token must be in If")
	}
	if _, ok := d.locks.refresh(n.path(), when.tokens, lasts); !ok {
		return nil, fence.NotSent, &StatusError{Status: http.StatusPreconditionFailed, Condition: "lock-token-matches-request-uri",
			Hrefs: []string{n.path()}, Text: "the path is not under that lock, which may be over"}
	}
	return d.describeLocks(http.StatusOK, n), fence.Definite, nil
}

// unlockPath answers UNLOCK.
func (d *Dir) unlockPath(r *http.Request) (*http.Response, fence.Outcome, error) {
	n, err := writable(r.URL.Path)
	if err != nil {
		return nil, fence.NotSent, err
	}
	token, err := dav.ParseLockToken(r.Header)
	if err != nil {
		return nil, fence.NotSent, badRequest(err)
	}
	if !d.locks.unlock(n.path(), token) {
		return nil, fence.NotSent, &StatusError{Status: http.StatusConflict, Condition: "lock-token-matches-request-uri",
			Hrefs: []string{n.path()}, Text: "the path is not under that lock, which may be over"}
	}
	return response(http.StatusNoContent, http.Header{}, ""), fence.Definite, nil
}

// describeLocks answers with the property lockdiscovery of n.
func (d *Dir) describeLocks(status int, n name) *http.Response {
	text := dav.Prolog + `<D:prop xmlns:D="DAV:">` + string(discovery(d.locks.on(n.path()), time.Now())) + "</D:prop>\n"
	return response(status, http.Header{"Content-Type": {dav.ContentType}}, text)
}

// lookFor describes what is at n for a write, nil for nothing; where nothing can
// be, or nothing of ours, it is an error.
func (d *Dir) lookFor(n name) (*info, error) {
	if n.base == "" {
		now, err := d.root.stat(".")
		return &now, err
	}
	parent, err := d.openParent(n)
	if notExist(err) {
		return nil, refuse(http.StatusConflict, textNoParent)
	}
	if err != nil {
		return nil, refused(err)
	}
	defer parent.close()
	now, err := lookUp(parent, n.base)
	if err == nil && n.slash && (now == nil || !now.mode.IsDir()) {
		err = refuse(http.StatusConflict, `a path that ends in "/" is a directory's, and there is none`)
	}
	return now, err
}

// makeEmpty makes an empty object where there is none (RFC 4918 section 7.3).
func (d *Dir) makeEmpty(n name, when demands) (fence.Outcome, error) {
	// Its conditions have been judged; the lock on the directory it is in has not.
	s := &upload{name: n, base: d.newName(), when: demands{tokens: when.tokens}}
	if err := d.receive(context.Background(), s, http.NoBody, 0); err != nil {
		return fence.NotSent, err
	}
	parent, err := d.openParent(n)
	if err != nil {
		d.discard(s)
		return fence.NotSent, refused(err)
	}
	defer parent.close()
	_, o, err := d.swap(parent, s)
	if err != nil {
		d.discard(s)
	}
	return o, err
}
