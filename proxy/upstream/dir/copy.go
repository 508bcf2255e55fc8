package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"syscall"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

// copyTo answers COPY. The copy is made in the staging area, durable, beside
// other writes; then it takes the destination's place in one step. Each object
// in it is one whole version, but a tree is not of one moment.
func (d *Dir) copyTo(ctx context.Context, r *http.Request) (*http.Response, fence.Outcome, error) {
	t, err := d.transferOf(r)
	if err != nil {
		return nil, fence.NotSent, err
	}
	if err := d.foresee(t); err != nil {
		return nil, fence.NotSent, err
	}
	s := &upload{name: t.to, base: d.newName()}
	if err := d.stageCopy(ctx, t, s); err != nil {
		d.throwAway(s.base)
		return nil, fence.NotSent, refused(err)
	}
	res, o, err := d.placeCopy(t, s)
	if err != nil {
		d.throwAway(s.base)
	}
	return res, o, err
}

// foresee refuses early what would be refused after the work.
func (d *Dir) foresee(t transfer) error {
	d.tree.RLock()
	defer d.tree.RUnlock()
	file, _, err := d.openAny(t.from)
	if err != nil {
		return err
	}
	parent, _, err := d.arrival(t)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(parent.close(), file.Close())
}

// placeCopy lets a copy take the destination's place.
func (d *Dir) placeCopy(t transfer, s *upload) (*http.Response, fence.Outcome, error) {
	d.tree.Lock()
	defer d.tree.Unlock()
	parent, old, err := d.arrival(t)
	if err != nil {
		return nil, fence.NotSent, err
	}
	defer parent.close()
	switch {
	case old == nil:
		err = d.staged.renameNew(s.base, parent, t.to.base)
	case old.regular() && s.state.regular():
		if !s.state.mtime.After(old.mtime) {
			if err := d.restamp(s, old.mtime); err != nil {
				return nil, fence.NotSent, refused(err)
			}
		}
		err = d.staged.rename(s.base, parent, t.to.base)
	default:
		if err = d.staged.exchange(s.base, parent, t.to.base); err == nil {
			defer d.throwAway(s.base)
		}
	}
	if err != nil {
		o, err := swapped(err)
		return nil, o, err
	}
	d.locks.drop(t.to.path(), false)
	if o, err := t.settle(parent, nil); err != nil {
		return nil, o, err
	}
	return transferred(old)
}

// stageCopy copies the source into the staging area.
func (d *Dir) stageCopy(ctx context.Context, t transfer, s *upload) error {
	file, now, err := d.openAny(t.from)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	if t.from.slash && now.regular() {
		return refuse(http.StatusNotFound, textNotFound)
	}
	if err := t.when.judge(&now); err != nil {
		return err
	}
	if now.regular() {
		s.state, err = d.copyFile(ctx, file, d.staged, s.base, true)
		return err
	}
	if err := d.copyDirectory(file, d.staged, s.base); err != nil {
		return err
	}
	if t.depth == dav.Infinity {
		if err := d.copyBelow(ctx, t, s.base); err != nil {
			return err
		}
	}
	if s.state, err = d.staged.stat(s.base); err != nil {
		return err
	}
	// One call for all of it: to fsync file by file takes many times as long.
	return d.staged.syncAll()
}

// copyBelow copies what is in a directory, at any depth. It keeps one directory
// open at a time.
func (d *Dir) copyBelow(ctx context.Context, t transfer, base string) error {
	for left := []string{""}; len(left) > 0; {
		rel := left[len(left)-1]
		left = left[:len(left)-1]
		from, err := d.root.open(t.from.at(rel))
		if err != nil {
			return changed(err)
		}
		to, err := d.staged.open(path.Join(base, rel))
		if err != nil {
			return errors.Join(err, from.close())
		}
		err = d.copyNames(ctx, t, rel, from, to, func(dir string) { left = append(left, dir) })
		if err == nil && !syncsAll {
			err = to.sync()
		}
		if err := errors.Join(err, from.close(), to.close()); err != nil {
			return err
		}
	}
	return nil
}

// copyNames copies the files of one directory, and makes its directories, of
// which it tells later.
func (d *Dir) copyNames(ctx context.Context, t transfer, rel string, from, to *folder, later func(dir string)) error {
	var failed error
	err := from.each(func(name string) {
		if failed == nil {
			failed = d.copyName(ctx, t, rel, from, to, name, later)
		}
	})
	return errors.Join(failed, changed(err))
}

// copyName copies one file, or makes one directory, in the directory at rel.
func (d *Dir) copyName(ctx context.Context, t transfer, rel string, from, to *folder, base string, later func(dir string)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	below := path.Join(rel, base)
	if len(t.to.at(below)) > maxPath-2 { // with the slash before it, and the NUL behind
		return refused(syscall.ENAMETOOLONG)
	}
	now, err := from.stat(base)
	if err != nil {
		return changed(err)
	}
	if !now.regular() && !now.mode.IsDir() {
		return refuse(http.StatusForbidden, "nothing was copied: "+t.from.path()+"/"+below+
			" is a symbolic link or special file, which the store does not touch")
	}
	file, err := from.openFile(base)
	if err != nil {
		return changed(err)
	}
	defer file.Close() // only read
	if !now.mode.IsDir() {
		_, err := d.copyFile(ctx, file, to, base, !syncsAll)
		return err
	}
	later(below)
	return d.copyDirectory(file, to, base)
}

// copyDirectory makes a directory with the properties of another.
func (d *Dir) copyDirectory(from *os.File, to *folder, base string) error {
	if err := to.mkdir(base, 0o777); err != nil {
		return err
	}
	made, err := to.openFile(base)
	if err != nil {
		return err
	}
	return errors.Join(copyProps(from, made), made.Close())
}

// changed makes of what vanished under the copy an answer.
func changed(err error) error {
	if notExist(err) || errors.Is(err, syscall.ENOTDIR) {
		return &StatusError{Status: http.StatusConflict, Text: textChanged, Err: err}
	}
	return err
}

// copyPiece is how much is copied between two looks at whether to go on, bytes.
const copyPiece = 64 << 20

// copyFile copies an open file with its properties, as a new version.
func (d *Dir) copyFile(ctx context.Context, in *os.File, to *folder, base string, durable bool) (now info, err error) {
	if now, err := statFile(in); err != nil || !now.regular() {
		return now, errors.Join(err, changed(syscall.ENOENT))
	}
	out, err := to.create(base)
	if err != nil {
		return info{}, err
	}
	for err == nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("copy: %w", context.Cause(ctx))
			break
		}
		// The kernel copies by itself, or shares the blocks, where it can.
		_, err = io.CopyN(out, in, copyPiece)
	}
	if err == io.EOF {
		err = copyProps(in, out)
	}
	if err == nil {
		err = to.touch(base, d.clock.next())
	}
	if err == nil && durable {
		err = out.Sync()
	}
	if err == nil {
		now, err = statFile(out)
	}
	return now, errors.Join(err, out.Close())
}
