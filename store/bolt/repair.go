package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"fencegate/fence"
)

// RepairOptions say what MakeSound may do.
type RepairOptions struct {
	// Floor is what the global floor is to be at least. With one, a ledger is
	// repaired although rows are lost, since every token below it is then stale
	// everywhere.
	Floor Floor
	// DryRun changes nothing.
	DryRun bool
}

// Repair is what a repair found and did.
type Repair struct {
	Path string // the ledger file
	// Needed is false for a ledger that is sound and not suspect: then nothing
	// was done.
	Needed bool
	// IsSuspect: there is a marker, whose first line is Suspect.
	IsSuspect bool
	Suspect   string
	// Damage is the first thing that is wrong with the file, "" if it is sound.
	Damage string
	// Meta is the record of the repaired ledger. Its ID is "" where no record
	// could be found.
	Meta fence.Meta
	// Marks and Floors count the rows of the last transaction that can be read.
	Marks, Floors int
	// Recovered counts the rows that were raised or added by what was found
	// outside of it. Not known of a dry run.
	Recovered int
	// Highest is the highest token that was found.
	Highest fence.Token
	// Lost is what is or may be lost, in words; LostMore counts what is not told.
	Lost     []string
	LostMore int
	// OldFloor was the global floor before.
	OldFloor fence.Token
	// Old is where the old file is kept, "" as long as nothing was replaced.
	Old string
}

// MakeSound rewrites the ledger in the state directory dir, which nobody may be
// using, if it is suspect or damaged: every row that can be proved sound goes
// into a new file, which takes the place of the old one once it is complete, on
// disk and compared with it. The old one is kept under another name. The marker
// goes last, so that whatever ends a repair, it has either been finished or can
// be begun again. The new ledger is not clean.
//
// Rows count as lost unless it is certain that the file has all that was ever
// acknowledged. Then, and only if no floor is given, the error is a
// *fence.OpenError that is fence.ErrLedgerDamaged. Others are those of Open, a
// *FloorError, and fence.ErrLedgerCreate where the new file cannot be written.
// With an error, what was found is returned as far as it is known.
func MakeSound(ctx context.Context, dir string, opts Options, how RepairOptions) (Repair, error) {
	opts = opts.withDefaults()
	r := &repair{dir: dir, opts: opts, how: how, Repair: Repair{Path: filepath.Join(dir, ledgerName)}}
	if err := checkPresent(dir); err != nil {
		return r.Repair, err
	}
	if err := checkFilesystem(dir, opts); err != nil {
		return r.Repair, err
	}
	var err error
	if r.file, err = openExisting(r.Path, os.O_RDONLY); err != nil {
		return r.Repair, err
	}
	// bbolt's own lock, as Inspect takes it. Who holds it keeps a fencegate from
	// using this file, and the lock file, which may be missing, need not be made
	// for a look.
	defer releaseLock(r.file)
	lock := syscall.LOCK_EX
	if how.DryRun {
		lock = syscall.LOCK_SH
	}
	if err := lockFile(ctx, r.file, lock, opts.Wait); err != nil {
		return r.Repair, err
	}
	if err := r.examine(ctx); err != nil || !r.Needed || how.DryRun {
		return r.Repair, err
	}
	err = r.replace(ctx)
	return r.Repair, err
}

// repair is a repair in progress.
type repair struct {
	Repair
	dir  string
	opts Options
	how  RepairOptions

	file *os.File // the ledger as it is
	size int64
	mark *marker
	// base is the tree that rows are taken from first; nil if there is none.
	base     *root
	pageSize int
	// transaction is at least that of everything that was ever acknowledged.
	transaction uint64
	lost        losses
}

// examine finds out what can be read and what is lost, and decides.
func (r *repair) examine(ctx context.Context) error {
	if err := checkFilesystem(r.Path, r.opts); err != nil {
		return err // the file may be a link to elsewhere
	}
	info, err := r.file.Stat()
	if err != nil {
		return unusable(r.Path, err)
	}
	if !info.Mode().IsRegular() {
		return &fence.OpenError{Path: r.Path, Err: fence.ErrLedgerDamaged, Detail: "it is no regular file", Remedy: restoreOnly}
	}
	r.size = info.Size()
	if r.mark, err = readMarker(r.dir); err != nil {
		return unusable(r.dir, err)
	}
	meta, err := verify(ctx, r.file, r.size, r.count)
	if r.mark != nil {
		r.IsSuspect, r.Suspect = true, r.mark.line
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.Damage = err.Error()
	case r.mark == nil:
		r.Meta, r.OldFloor = meta, meta.Global
		return r.checkID()
	}
	r.Needed = true
	if err := r.readRoots(ctx); err != nil {
		return r.formatError(ctx, err)
	}
	if err := r.scan(ctx); err != nil {
		return r.formatError(ctx, err)
	}
	r.Lost, r.LostMore = r.lost.texts, r.lost.more
	if err := r.checkID(); err != nil {
		return err
	}
	return r.decideFloor()
}

func (r *repair) count(row *fence.Row) {
	if row.Kind == fence.Mark {
		r.Marks++
	} else {
		r.Floors++
	}
	r.Highest = max(r.Highest, row.Token)
}

// readRoots chooses the tree to take rows from: the latest one of which nothing
// is lost and that is certain to have all that was acknowledged, else the latest
// that there is.
//
// The latest is certain if both meta pages are valid, for bbolt overwrites the
// older one; or if the marker says that nothing later was acknowledged. Then the
// tree of the other meta page is as good as the one that a failed commit may
// have left half written.
func (r *repair) readRoots(ctx context.Context) error {
	valid, faults := metaPagesOf(r.file, r.size)
	var candidates []*root
	for _, m := range valid {
		t, err := readTree(ctx, r.file, m, nil)
		if err != nil {
			return err
		}
		candidates = append(candidates, t)
		r.transaction = max(r.transaction, m.transaction)
	}
	doubt := ""
	switch {
	case len(valid) == 0:
		doubt = "neither meta page is valid, so it is not certain which rows are the last ones"
	case r.mark == nil && len(faults) > 0:
		doubt = fmt.Sprintf("the last transaction, perhaps (%v)", faults[0])
	case r.mark != nil && !r.mark.known:
		doubt = suspectName + " does not say which transaction was the last, so it is not certain that this file has it"
	case len(valid) == 2 && valid[0].transaction == valid[1].transaction:
		doubt = "the meta pages contradict each other, so it is not certain which rows are the last ones"
	}
	if r.mark != nil && r.mark.known {
		r.transaction = max(r.transaction, r.mark.transaction)
		if len(candidates) > 0 && candidates[0].transaction < r.mark.transaction {
			doubt = fmt.Sprintf("what was acknowledged after transaction %d, up to %d, which %s tells of: the last of it, or this is an older file",
				candidates[0].transaction, r.mark.transaction, suspectName)
		}
	}
	for i, t := range candidates {
		acknowledged := r.mark != nil && r.mark.known && t.transaction >= r.mark.transaction
		if doubt == "" && len(t.lost.texts) == 0 && (acknowledged || r.mark == nil && i == 0) {
			r.lost = losses{}
			r.use(t)
			r.others(candidates)
			return nil
		}
	}
	if r.lost = (losses{}); doubt != "" {
		r.lost.add("%s", doubt)
	}
	if len(candidates) > 0 {
		r.use(candidates[0])
		for _, text := range r.base.lost.texts {
			r.lost.add("%s", text)
		}
		r.lost.more += r.base.lost.more
		r.others(candidates)
	}
	return nil
}

func (r *repair) use(t *root) {
	r.base, r.Meta = t, t.record
	r.Marks, r.Floors = t.rows[fence.Mark], t.rows[fence.Floor]
}

// others takes what is safer of the records that were not chosen.
func (r *repair) others(candidates []*root) {
	for _, t := range candidates {
		r.merge(t.record)
	}
}

func (r *repair) merge(m fence.Meta) {
	switch {
	case m.ID == "":
	case r.Meta.ID == "":
		r.Meta = m
	default:
		r.Meta.Settle, r.Meta.Global = max(r.Meta.Settle, m.Settle), max(r.Meta.Global, m.Global)
	}
}

// scan looks through the whole file for the highest token, and for a record
// where no tree has one.
func (r *repair) scan(ctx context.Context) error {
	r.pageSize = os.Getpagesize()
	if r.base != nil {
		r.pageSize = int(r.base.pageSize)
	}
	merge := r.Meta.ID == ""
	several := false
	err := scan(ctx, r.file, r.size, r.pageSize, func(row *fence.Row) error {
		r.Highest = max(r.Highest, row.Token)
		return nil
	}, func(m fence.Meta) {
		if merge {
			several = several || r.Meta.ID != "" && r.Meta.ID != m.ID
			r.merge(m)
		}
	})
	if err == nil && several {
		r.Meta.ID = ""
	}
	return err
}

func (r *repair) formatError(ctx context.Context, err error) error {
	var newer newerFormat
	switch {
	case errors.As(err, &newer):
		return &fence.OpenError{Path: r.Path, Err: fence.ErrLedgerNewer, Detail: newer.Error(),
			Remedy: "use the fencegate that wrote it, or a later one"}
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return unusable(r.Path, err)
	}
}

const restoreOnly = "nothing of it can be saved: keep the file and restore a backup of the state directory"

// checkID refuses a file without any record, and one of another ledger.
func (r *repair) checkID() error {
	want, why := r.opts.ExpectID, "expected"
	if r.mark != nil && r.mark.known && want == "" {
		want, why = r.mark.id, suspectName+" tells of"
	}
	switch {
	case r.Meta.ID == "":
		return &fence.OpenError{Path: r.Path, Err: fence.ErrLedgerDamaged, Detail: "no meta record is left, not even an old one", Remedy: restoreOnly}
	case want != "" && want != r.Meta.ID:
		return &fence.OpenError{Path: r.Path, Err: fence.ErrLedgerForeign,
			Detail: fmt.Sprintf("its id is %s, %s %s", r.Meta.ID, why, want), Remedy: "use the state directory that belongs to the storage"}
	}
	return nil
}

// decideFloor sets the global floor of the new ledger, or refuses.
func (r *repair) decideFloor() error {
	r.Meta.Clean, r.Meta.Commits = false, 0
	r.OldFloor = r.Meta.Global
	lossy := len(r.Lost) > 0
	floor, err := r.how.Floor.of(r.Meta.Kind, r.opts.Now(), r.Highest)
	switch {
	case err != nil:
		return err
	case lossy && floor == fence.NoToken:
		how := "--floor N with an N above every token ever given out"
		if r.Meta.Kind == fence.TimeTokens {
			how = "--floor now"
		}
		return &fence.OpenError{Path: r.Path, Err: fence.ErrLedgerDamaged, Detail: "marks are lost, or may be: " + r.Lost[0],
			Remedy: "restore a backup of the state directory, or save what can be read, with a global floor in place of what is lost: add " + how}
	case lossy && floor <= r.Highest:
		return &FloorError{fmt.Sprintf("the floor %s is too low: token %s was given out, as the ledger shows: expected a number above every token ever given out", floor, r.Highest)}
	}
	r.Meta.Global = max(r.OldFloor, floor)
	return nil
}
