package bolt

import (
	"errors"
	"os"
)

var errReplaced = errors.New("the ledger file was replaced or removed while in use")

// inPlace fails if the next start would not find the file that was written.
// It is looked at after each commit, so that no row is believed durable in a
// file that has lost its name.
func (l *Ledger) inPlace() error {
	same, err := sameFile(l.file, l.file.Name())
	if err == nil && same {
		return nil
	}
	if err != nil && !isMissing(err) {
		return err
	}
	return errReplaced
}

// sameFileByStat is sameFile with what every system has.
func sameFileByStat(file *os.File, path string) (bool, error) {
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there), err
}
