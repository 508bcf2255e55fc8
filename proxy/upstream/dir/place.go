package dir

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"fencegate/fence"
)

// place puts an upload in its place, making the directories that are missing.
func (d *Dir) place(s *upload) (*http.Response, fence.Outcome, error) {
	res, o, err := d.placeBelow(s)
	if !errors.Is(err, errNoParent) {
		return res, o, err
	}
	if d.locks != nil {
		return nil, fence.NotSent, refuse(http.StatusConflict, textNoParent)
	}
	return d.placeBelowNew(s)
}

const textNoParent = "the directory that this is to be in does not exist: make it first (MKCOL)"

var errNoParent = errors.New("the directory does not exist")

// placeBelow puts an upload into a directory that exists, or returns
// errNoParent.
func (d *Dir) placeBelow(s *upload) (*http.Response, fence.Outcome, error) {
	d.tree.RLock()
	defer d.tree.RUnlock()
	parent, err := d.openParent(s.name)
	if notExist(err) {
		return nil, fence.NotSent, errNoParent
	}
	if err != nil {
		return nil, fence.NotSent, refused(err)
	}
	defer parent.close()
	return d.swap(parent, s)
}

// placeBelowNew is placeBelow that first makes the directories that are
// missing. It holds the tree alone: a directory that is not yet durable in its
// parent must not be found by another PUT, whose answer would promise too much.
func (d *Dir) placeBelowNew(s *upload) (*http.Response, fence.Outcome, error) {
	d.tree.Lock()
	defer d.tree.Unlock()
	if parent, err := d.openParent(s.name); err == nil {
		defer parent.close()
		return d.swap(parent, s)
	} else if !notExist(err) {
		return nil, fence.NotSent, refused(err)
	}
	// Judged before anything is made, and with nothing there.
	if err := s.when.judge(nil); err != nil {
		return nil, fence.NotSent, err
	}
	parent, made, err := d.makeDirectories(s.name.parent)
	if err != nil {
		d.unmake(s.name.parent, made)
		return nil, fence.NotSent, refused(err)
	}
	defer parent.close()
	res, o, err := d.swap(parent, s)
	if err != nil && o == fence.NotSent {
		d.unmake(s.name.parent, made)
	}
	return res, o, err
}

// swap renames an upload over what is at its name in parent, if its conditions
// hold, and makes that durable. The turn is kept to the end, so that no answer
// rests on a version that a power loss could take back.
func (d *Dir) swap(parent *folder, s *upload) (*http.Response, fence.Outcome, error) {
	defer d.turns.take(s.name.rel())()
	now, err := lookUp(parent, s.name.base)
	if err != nil {
		return nil, fence.NotSent, err
	}
	if now != nil && now.mode.IsDir() {
		return nil, fence.NotSent, refuse(http.StatusConflict, textIsDirectory)
	}
	if err := d.judge(s.when, s.name, now, change{comes: now == nil}); err != nil {
		return nil, fence.NotSent, err
	}
	if now != nil && d.locks != nil {
		if err := d.keepProps(parent, s); err != nil {
			return nil, fence.NotSent, refused(err)
		}
	}
	if now != nil && !s.state.mtime.After(now.mtime) {
		if err := d.restamp(s, now.mtime); err != nil {
			return nil, fence.NotSent, refused(err)
		}
	}
	err, undurable := d.rounds.join(parent, func() error { return d.staged.rename(s.base, parent, s.name.base) })
	if err != nil {
		o, err := moved(err)
		return nil, o, err
	}
	if undurable != nil {
		return nil, fence.Uncertain, fmt.Errorf("the object was replaced, perhaps not durably: %w", undurable)
	}
	h := http.Header{}
	s.state.describe(h)
	if now == nil {
		return response(http.StatusCreated, h, ""), fence.Definite, nil
	}
	return response(http.StatusNoContent, h, ""), fence.Definite, nil
}

// restamp gives an upload a modification time after that of the version it
// replaces, which was written after the upload was taken in, or by a clock that
// was ahead of ours.
func (d *Dir) restamp(s *upload, replaced time.Time) error {
	if err := d.staged.touch(s.base, d.clock.after(replaced)); err != nil {
		return err
	}
	file, err := d.staged.openFile(s.base)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return err
	}
	s.state, err = statFile(file)
	return err
}

// makeDirectories makes what is missing on the way to rel, each durable in its
// parent before the next, and opens rel. made is the topmost directory that was
// made, "" for none, also on an error.
func (d *Dir) makeDirectories(rel string) (at *folder, made string, err error) {
	if at, err = d.root.open("."); err != nil {
		return nil, "", err
	}
	var done string
	for step := range strings.SplitSeq(rel, "/") {
		done = path.Join(done, step)
		next, err := at.open(step)
		if notExist(err) {
			err = at.mkdir(step, 0o777)
			if err == nil && made == "" {
				made = done
			}
			if err == nil {
				err = at.sync()
			}
			if err == nil {
				next, err = at.open(step)
			}
		}
		at.close()
		if err != nil {
			return nil, made, err
		}
		at = next
	}
	return at, made, nil
}

// unmake removes the empty directories from rel up to made, as far as they
// were made: a write that was refused leaves nothing behind.
func (d *Dir) unmake(rel, made string) {
	if made == "" {
		return
	}
	for ; len(rel) >= len(made); rel = path.Dir(rel) {
		parent, err := d.root.open(path.Dir(rel))
		if notExist(err) {
			continue // not made either
		}
		if err != nil {
			return
		}
		err = parent.rmdir(path.Base(rel))
		parent.close()
		if err != nil && !notExist(err) {
			return
		}
	}
}
