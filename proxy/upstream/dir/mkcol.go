package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"fencegate/fence"
)

// mkcol makes a directory.
func (d *Dir) mkcol(r *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
	n, err := writable(r.URL.Path)
	if err != nil {
		return nil, fence.NotSent, err
	}
	when, err := d.demandsOf(r.Header)
	if err != nil {
		return nil, fence.NotSent, err
	}
	if some, err := io.CopyN(io.Discard, body, 1); some > 0 {
		return nil, fence.NotSent, refuse(http.StatusUnsupportedMediaType, "MKCOL with a body: what it should mean is not defined")
	} else if err != io.EOF {
		return nil, fence.NotSent, fmt.Errorf("receive the body: %w", err)
	}
	exists := refuse(http.StatusMethodNotAllowed, "there is something at this path already")
	exists.Header = http.Header{"Allow": {d.allowed()}}
	if n.base == "" {
		return nil, fence.NotSent, exists
	}
	d.tree.Lock()
	defer d.tree.Unlock()
	parent, err := d.openParent(n)
	if notExist(err) {
		return nil, fence.NotSent, refuse(http.StatusConflict, textNoParent)
	}
	if err != nil {
		return nil, fence.NotSent, refused(err)
	}
	defer parent.close()
	now, err := lookUp(parent, n.base)
	if err != nil {
		return nil, fence.NotSent, err
	}
	if err := d.judge(when, n, now, change{comes: true}); err != nil {
		return nil, fence.NotSent, err
	}
	if now != nil {
		return nil, fence.NotSent, exists
	}
	if err := parent.mkdir(n.base, 0o777); errors.Is(err, fs.ErrExist) {
		return nil, fence.NotSent, exists
	} else if err != nil {
		o, err := moved(err)
		return nil, o, err
	}
	if err := parent.sync(); err != nil {
		return nil, fence.Uncertain, fmt.Errorf("the directory was made, perhaps not durably: %w", err)
	}
	return response(http.StatusCreated, http.Header{}, ""), fence.Definite, nil
}
