package dir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a directory.
type Options struct {
	// LedgerID is the id of the ledger that guards the root, remembered there
	// at first and compared from then on. "" is right only for a root that no
	// ledger guards, and then remembers nothing.
	LedgerID string
	// Wait is how long to wait while another process, which is about to end,
	// serves the root. 0 is not at all.
	Wait time.Duration
	// WebDAV: serve RFC 4918 classes 1 and 2 instead of protocol plain.
	WebDAV bool
}

// Dir serves one local directory. Its methods may be called from many
// goroutines at once; after Close they return errors.
type Dir struct {
	root   *folder
	area   *folder // staging area
	self   info    // of the staging area, to know it under any name
	staged *folder
	trash  *folder
	moves  *folder
	lock   *os.File
	locks  *locks // of WebDAV clients; nil under protocol plain
	traits traits

	clock  clock
	opened int64         // tells names of this process from what a dead one left
	serial atomic.Uint64 // of names in the staging area

	// tree is held shared while one object is replaced or removed, and alone
	// while directories come and go: nothing may be acknowledged into a
	// directory that is on its way to the trash, or that is not yet durable
	// itself.
	tree   sync.RWMutex
	turns  turns
	rounds *rounds

	wake     chan struct{} // something is in the trash
	stop     chan struct{} // closed by Close
	emptied  chan struct{} // closed when the emptying has ended
	trashErr error         // of the last emptying, readable after emptied
	closing  sync.Once
}

// Open serves the directory root, which is made (0755) if it is missing, with
// everything that a dead process left in the staging area removed. What it
// finds is made durable before it returns, so that no reader sees a version
// that a power loss could take back.
//
// It returns a *fence.OpenError with fence.ErrLedgerForeign if another ledger
// guards the root, or one that is fence.ErrLedgerHeld if another process, or
// another Dir, serves it; in both cases the storage is as it was.
func Open(root string, opts Options) (*Dir, error) {
	if err := checkLedgerID(opts.LedgerID); opts.LedgerID != "" && err != nil {
		return nil, err
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	d := &Dir{
		opened:  time.Now().UnixNano(),
		rounds:  newRounds(),
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		emptied: make(chan struct{}),
	}
	if opts.WebDAV {
		d.locks = newLocks(time.Now)
	}
	if err := d.open(root, opts); err != nil {
		return nil, errors.Join(err, d.closeFiles())
	}
	d.wakeEmptying()
	go d.keepEmptying()
	return d, nil
}

// open fills d; what it opened stays in d for the caller to close on error.
func (d *Dir) open(root string, opts Options) (err error) {
	if d.root, err = openRoot(root); err != nil {
		return fmt.Errorf("open the storage directory: %w", err)
	}
	if d.area, err = d.root.enter(area); err != nil {
		return fmt.Errorf("open the staging area %s: %w", filepath.Join(root, area), err)
	}
	if d.self, err = d.root.stat(area); err != nil {
		return err
	}
	if err := d.takeLock(root, opts.Wait); err != nil {
		return err
	}
	// Nothing is swept or written before it is sure that we may.
	if err := d.bind(root, opts.LedgerID); err != nil {
		return err
	}
	if d.staged, err = d.area.enter("staged"); err != nil {
		return err
	}
	if d.trash, err = d.area.enter("trash"); err != nil {
		return err
	}
	if err := d.openMoves(); err != nil {
		return err
	}
	if err := d.undoMoves(); err != nil {
		return fmt.Errorf("put back what a MOVE left half way in %s: %w", filepath.Join(root, area), err)
	}
	if err := d.empty(d.staged); err != nil {
		return fmt.Errorf("sweep the staging area: %w", err)
	}
	if err := d.measureClock(); err != nil {
		return err
	}
	if err := d.probe(); err != nil {
		return fmt.Errorf("find out what the file system can do: %w", err)
	}
	if d.locks != nil {
		d.locks.folds = d.traits.foldsCase
	}
	if err := d.root.syncAll(); err != nil {
		return fmt.Errorf("make the storage directory durable: %w", err)
	}
	return nil
}

// measureClock finds out how finely the file system stores times.
func (d *Dir) measureClock() error {
	set := time.Unix(time.Now().Unix(), 123456789)
	if err := d.area.touch(lockName, set); err != nil {
		return err
	}
	got, err := d.area.stat(lockName)
	d.clock.step = granularity(set, got.mtime)
	return err
}

// newName returns a name that is not in the staging area.
func (d *Dir) newName() string {
	return strconv.FormatInt(d.opened, 36) + "-" + strconv.FormatUint(d.serial.Add(1), 36)
}

// Close waits until the trash is empty and gives the root free for another
// process. It returns what kept the trash from being emptied, which the next
// Open will try again. Requests must have ended; those that have not get errors.
func (d *Dir) Close() (err error) {
	d.closing.Do(func() {
		close(d.stop)
		<-d.emptied
		err = errors.Join(d.trashErr, d.closeFiles())
	})
	return err
}

// closeFiles closes what is open, the lock last.
func (d *Dir) closeFiles() error {
	var errs []error
	for _, f := range []*folder{d.staged, d.trash, d.moves, d.area, d.root} {
		if f != nil {
			errs = append(errs, f.close())
		}
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}
