package dir

import (
	"errors"
	"syscall"
)

// keepEmptying empties the trash whenever something was put there, and a last
// time when Close asks it to end.
func (d *Dir) keepEmptying() {
	defer close(d.emptied)
	for {
		select {
		case <-d.wake:
			d.trashErr = d.empty(d.trash)
		case <-d.stop:
			d.trashErr = d.empty(d.trash)
			return
		}
	}
}

// wakeEmptying is called after something was put in the trash.
func (d *Dir) wakeEmptying() {
	select {
	case d.wake <- struct{}{}:
	default: // it will be seen: the pending wake-up is not yet taken
	}
}

// empty removes everything in f, which belongs to the staging area. A
// directory's own directories are moved up into f first, so that it takes few
// descriptors and little stack however deep they are. Mount points stay, with
// what is in them: no request could see into them, so none meant to remove it.
func (d *Dir) empty(f *folder) error {
	return clearOut(f, func(base string) error {
		err := f.unlink(base)
		if !errors.Is(err, syscall.EISDIR) {
			return err
		}
		below, err := f.open(base)
		if err != nil {
			return err
		}
		err = clearOut(below, func(base string) error {
			err := below.unlink(base)
			if errors.Is(err, syscall.EISDIR) {
				err = below.rename(base, f, d.newName())
			}
			return err
		})
		if err = errors.Join(err, below.close()); err != nil {
			return err
		}
		return f.rmdir(base)
	})
}

// clearOut calls remove for every name in f until none is left, or none of those
// that are left can be removed; then it returns the last error.
func clearOut(f *folder, remove func(base string) error) error {
	for {
		var removed int
		var failed error
		err := f.each(func(base string) {
			switch err := remove(base); {
			case err == nil:
				removed++
			case !notExist(err):
				failed = err
			}
		})
		if err != nil || removed == 0 {
			return errors.Join(err, failed)
		}
	}
}
