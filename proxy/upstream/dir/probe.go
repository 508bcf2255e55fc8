package dir

import (
	"errors"
	"fmt"
	"io/fs"
)

// traits are what Open finds out about the file system.
type traits struct {
	foldsCase bool // "a" and "A" are one name
	exchanges bool // two names can change places in one step
	keeps     bool // something can be kept beside a file: dead properties
}

// probe tries out in the staging area what cannot be asked for. On a file system
// that is full it takes what most can do for granted: what has to be deleted can
// only be deleted by one that starts.
func (d *Dir) probe() error {
	err := d.tryOut()
	if noRoom(err) {
		d.traits = traits{exchanges: true, keeps: true}
		return nil
	}
	return err
}

func (d *Dir) tryOut() (err error) {
	var made []string
	create := func(base string) error {
		file, err := d.staged.create(base)
		if err != nil {
			return err
		}
		made = append(made, base)
		d.traits.keeps = setAttribute(file, propsAttribute, []byte("x")) == nil
		return file.Close()
	}
	defer func() {
		for _, base := range made {
			err = errors.Join(err, d.staged.unlink(base))
		}
	}()
	const lower, upper, other = "probe-a", "PROBE-A", "probe-b"
	if err := create(lower); err != nil {
		return err
	}
	err = create(upper)
	d.traits.foldsCase = errors.Is(err, fs.ErrExist)
	if err != nil && !d.traits.foldsCase {
		return err
	}
	if err := create(other); err != nil {
		return err
	}
	d.traits.exchanges = d.staged.exchange(lower, d.staged, other) == nil
	return nil
}

// FoldsCase reports whether the file system takes names that differ only in case
// for one. Then every route needs fold_case: two spellings of one object would
// have two fences. It is found out where the staging area is; single directories
// can differ where a file system allows that.
func (d *Dir) FoldsCase() bool { return d.traits.foldsCase }

// Warnings says, one line each, what an operator should know about the file
// system.
func (d *Dir) Warnings() []string {
	var lines []string
	warn := func(line string) { lines = append(lines, line) }
	if d.traits.foldsCase {
		warn("the file system takes names that differ in case for one: set fold_case: true on every route, or one object has two fences")
	}
	if d.locks == nil {
		return lines
	}
	if !d.traits.exchanges {
		warn("the file system cannot exchange two names in one step: COPY and MOVE over a directory are refused (403) until the destination is deleted")
	}
	if !d.traits.keeps {
		warn(fmt.Sprintf("the file system keeps no extended attributes (%s): PROPPATCH is answered 507", propsAttribute))
	}
	return lines
}
