package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"

	"fencegate/fence"
)

// move answers MOVE: a rename, so that object and properties go in one step.
func (d *Dir) move(r *http.Request) (*http.Response, fence.Outcome, error) {
	t, err := d.transferOf(r)
	if err != nil {
		return nil, fence.NotSent, err
	}
	d.tree.Lock()
	defer d.tree.Unlock()
	from, err := d.openParent(t.from)
	if err != nil {
		return nil, fence.NotSent, refused(missing(err))
	}
	defer from.close()
	now, err := lookUp(from, t.from.base)
	if err == nil && (now == nil || t.from.slash && !now.mode.IsDir()) {
		err = refuse(http.StatusNotFound, textNotFound)
	}
	if err == nil {
		err = d.judge(t.when, t.from, now, change{comes: true, tree: true})
	}
	if err != nil {
		return nil, fence.NotSent, missing(err)
	}
	to, old, err := d.arrival(t)
	if err != nil {
		return nil, fence.NotSent, err
	}
	defer to.close()
	if o, err := d.moveOver(t, from, now, to, old); err != nil {
		return nil, o, err
	}
	return transferred(old)
}

// moveOver moves the source to the destination, over what is there, durably.
func (d *Dir) moveOver(t transfer, from *folder, now *info, to *folder, old *info) (fence.Outcome, error) {
	var err error
	switch {
	case old == nil:
		err = from.renameNew(t.from.base, to, t.to.base)
	case old.regular() && now.regular():
		if !now.mtime.After(old.mtime) {
			if err := d.renew(from, t.from.base, old); err != nil {
				return fence.NotSent, err
			}
		}
		if old.same(*now) {
			// Two links to one file, of which rename keeps both.
			err = from.unlink(t.from.base)
		} else {
			err = from.rename(t.from.base, to, t.to.base)
		}
	default:
		return d.moveByStaging(t, from, now, to)
	}
	if err != nil {
		return swapped(err)
	}
	d.endLocks(t)
	return t.settle(to, from)
}

// endLocks ends the locks on what is no longer there.
func (d *Dir) endLocks(t transfer) {
	d.locks.drop(t.from.path(), true)
	d.locks.drop(t.to.path(), false)
}

// renew gives a file a modification time after that of the version which it is
// about to replace: else those who ask by date would not see the change.
func (d *Dir) renew(from *folder, base string, old *info) error {
	if err := from.touch(base, d.clock.after(old.mtime)); err != nil {
		return refused(err)
	}
	file, err := from.openFile(base)
	if err != nil {
		return refused(err)
	}
	defer file.Close() // only read
	return file.Sync()
}

// moveByStaging moves over a directory, or a directory over something, for which
// a rename will not do: the source goes to the staging area, and there changes
// places with the destination, so that at no time anything else than old or new
// is at either name. A note says where the source belongs, should the process
// end before that.
func (d *Dir) moveByStaging(t transfer, from *folder, now *info, to *folder) (fence.Outcome, error) {
	if !d.traits.exchanges {
		return fence.NotSent, errNoExchange
	}
	base := d.newName()
	if err := d.noteMove(base, now.ino, t.from.rel()); err != nil {
		return fence.NotSent, errors.Join(refused(err), d.forgetMove(base))
	}
	err := from.renameNew(t.from.base, d.staged, base)
	if err == nil {
		err = d.staged.exchange(base, to, t.to.base)
	}
	if err != nil {
		if back := d.putBack(base, now.ino, from, t.from.base); back != nil {
			return fence.Uncertain, errors.Join(err, back) // the next Open will see to it
		}
		o, err := swapped(err)
		return o, errors.Join(err, d.forgetMove(base))
	}
	d.endLocks(t)
	// Before the note goes: what is not durable would have to be undone.
	if o, err := t.settle(to, from); err != nil {
		return o, err
	}
	d.throwAway(base)
	_ = d.forgetMove(base) // without what it speaks of it means nothing
	return fence.Definite, nil
}

// A note is a file in moves, under the name that the source has in staged:
//
//	"move 1 " inode " " length of path "\n" path "\n"
//
// One that is not whole was never acted on.
func (d *Dir) noteMove(base string, ino uint64, rel string) error {
	file, err := d.moves.create(base)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "move 1 %d %d\n%s\n", ino, len(rel), rel)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return d.moves.sync()
}

// openMoves opens the folder of the notes. Under protocol plain none is made, but
// there can be some.
func (d *Dir) openMoves() (err error) {
	if d.locks != nil {
		d.moves, err = d.area.enter("moves")
		return err
	}
	if d.moves, err = d.area.open("moves"); notExist(err) {
		return nil
	}
	return err
}

func (d *Dir) forgetMove(base string) error {
	if err := d.moves.unlink(base); !notExist(err) {
		return err
	}
	return nil
}

// putBack gives a source that is still in the staging area its name again.
func (d *Dir) putBack(base string, ino uint64, from *folder, name string) error {
	now, err := d.staged.stat(base)
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if now.ino != ino {
		return errors.New("it has changed places with the destination")
	}
	err = d.staged.renameNew(base, from, name)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s/staged/%s belongs at %s, where something else is now: rename one of them by hand, and remove %s/moves/%s: %w", area, base, name, area, base, err)
	}
	if err != nil {
		return err
	}
	return from.sync()
}

// undoMoves undoes the moves that a dead process left half way. It is called
// before staged is swept.
func (d *Dir) undoMoves() error {
	if d.moves == nil {
		return nil
	}
	var failed error
	err := d.moves.each(func(base string) {
		if err := d.undoMove(base); err != nil {
			failed = fmt.Errorf("%s: %w", base, err)
			return
		}
		if err := d.forgetMove(base); err != nil {
			failed = err
		}
	})
	return errors.Join(failed, err)
}

func (d *Dir) undoMove(base string) error {
	file, err := d.moves.openFile(base)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(file, 2*maxPath))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	var ino uint64
	var size int
	if _, err := fmt.Sscanf(string(text), "move 1 %d %d\n", &ino, &size); err != nil || size <= 0 || len(text) < size+2 {
		return nil
	}
	rel := string(text[len(text)-1-size : len(text)-1])
	if string(text) != fmt.Sprintf("move 1 %d %d\n%s\n", ino, size, rel) {
		return nil
	}
	now, err := d.staged.stat(base)
	if notExist(err) || err == nil && now.ino != ino {
		return nil // not begun, or past the point where the destination was replaced
	}
	if err != nil {
		return err
	}
	from, err := d.root.open(path.Dir(rel))
	if err != nil {
		return err
	}
	defer from.close()
	return d.putBack(base, ino, from, path.Base(rel))
}
