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
	mine, err := l.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(l.file.Name())
	if err == nil && os.SameFile(mine, there) {
		return nil
	}
	if err != nil && !isMissing(err) {
		return err
	}
	return errReplaced
}
