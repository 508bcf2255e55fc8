package dir

import (
	"errors"
	"fmt"
	"net/http"

	"fencegate/fence"
)

// remove moves an object, or a directory with all that is in it, to the trash,
// in one step. What is in the trash is removed after the answer.
func (d *Dir) remove(r *http.Request) (*http.Response, fence.Outcome, error) {
	n, err := writable(r.URL.Path)
	if err != nil {
		return nil, fence.NotSent, missing(err)
	}
	if n.base == "" {
		return nil, fence.NotSent, refuse(http.StatusForbidden, "the root of the storage cannot be deleted")
	}
	when, err := d.demandsOf(r.Header)
	if err != nil {
		return nil, fence.NotSent, err
	}
	res, o, err := d.removeFile(n, when)
	if errors.Is(err, errDirectory) {
		return d.removeAny(n, when)
	}
	return res, o, err
}

var errDirectory = errors.New("it is a directory")

// removeFile removes a file, beside other writes, or returns errDirectory.
func (d *Dir) removeFile(n name, when demands) (*http.Response, fence.Outcome, error) {
	d.tree.RLock()
	defer d.tree.RUnlock()
	return d.toTrash(n, when, false)
}

// removeAny removes a file or directory while no other write is under way.
func (d *Dir) removeAny(n name, when demands) (*http.Response, fence.Outcome, error) {
	d.tree.Lock()
	defer d.tree.Unlock()
	return d.toTrash(n, when, true)
}

// toTrash is called with tree held, alone if directories may be moved.
func (d *Dir) toTrash(n name, when demands, directories bool) (*http.Response, fence.Outcome, error) {
	parent, err := d.openParent(n)
	if err != nil {
		return nil, fence.NotSent, refused(missing(err))
	}
	defer parent.close()
	defer d.turns.take(n.rel())()
	now, err := lookUp(parent, n.base)
	switch {
	case err != nil:
		return nil, fence.NotSent, missing(err)
	case now == nil, n.slash && !now.mode.IsDir():
		return nil, fence.NotSent, refuse(http.StatusNotFound, textNotFound)
	case now.mode.IsDir() && !directories:
		return nil, fence.NotSent, errDirectory
	}
	if err := d.judge(when, n, now, change{comes: true, tree: true}); err != nil {
		return nil, fence.NotSent, err
	}
	err, undurable := d.rounds.join(parent, func() error { return parent.rename(n.base, d.trash, d.newName()) })
	if err != nil {
		// Nothing can have moved to where there is nothing.
		if _, gone := d.area.stat("trash"); notExist(err) && notExist(gone) {
			return nil, fence.NotSent, &StatusError{Status: http.StatusInternalServerError,
				Text: "the store's own directory .fencegate was removed while it was in use: fencegate must be restarted", Err: err}
		}
		o, err := moved(err)
		return nil, o, err
	}
	d.wakeEmptying()
	d.locks.drop(n.path(), true)
	if undurable != nil {
		return nil, fence.Uncertain, fmt.Errorf("the object was removed, perhaps not durably: %w", undurable)
	}
	return response(http.StatusNoContent, http.Header{}, ""), fence.Definite, nil
}
