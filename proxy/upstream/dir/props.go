package dir

import (
	"errors"
	"io/fs"
	"os"

	"fencegate/proxy/protocol/dav"
)

// propsAttribute is where the dead properties of a file or directory are: an
// extended attribute moves with the file in one step, and changes in one step.
const propsAttribute = "user.fencegate.properties"

// maxProps is the most that Linux keeps in one attribute, in bytes. File systems
// allow less: ext4 about 4 KiB for all attributes of a file.
const maxProps = 64 << 10

// propsOf returns the dead properties of an open file or directory.
func propsOf(file *os.File) ([]dav.Property, error) {
	return splitProps(attribute(file, propsAttribute))
}

// props is propsOf for those who only look.
func (o *opened) props() ([]dav.Property, error) {
	return splitProps(o.attribute(propsAttribute))
}

func splitProps(text []byte, err error) ([]dav.Property, error) {
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return dav.SplitProperties(text)
}

// propsAt is propsOf for a name in f; what cannot be opened has none.
func (f *folder) propsAt(base string) ([]dav.Property, error) {
	o, err := f.peek(base)
	if err != nil {
		if refused(missing(err)) != err {
			return nil, nil
		}
		return nil, err
	}
	props, err := o.props()
	return props, errors.Join(err, o.close())
}

// copyProps gives to what from has. It is not durable yet.
func copyProps(from, to *os.File) error {
	text, err := attribute(from, propsAttribute)
	if err != nil || len(text) == 0 {
		return err
	}
	return setAttribute(to, propsAttribute, text)
}

// keepProps gives an upload the properties of the object that it replaces, and
// makes them durable: a PUT changes the content only.
func (d *Dir) keepProps(parent *folder, s *upload) error {
	if !d.traits.keeps {
		return nil
	}
	old, err := parent.peek(s.name.base)
	if errors.Is(err, fs.ErrPermission) {
		return nil // then nobody has set any through us
	}
	if err != nil {
		return err
	}
	text, err := old.attribute(propsAttribute)
	if err = errors.Join(err, old.close()); err != nil || len(text) == 0 {
		return err
	}
	file, err := d.staged.openFile(s.base)
	if err != nil {
		return err
	}
	defer file.Close() // only read, as far as this descriptor goes
	if err := setAttribute(file, propsAttribute, text); err != nil {
		return err
	}
	return file.Sync()
}
