package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"fencegate/fence"
)

// bbolt's file: pages of one size, 0 and 1 are meta pages, integers are native
// endian.
//
//	page header   id u64, flags u16, count u16, overflow u32
//	meta page     header, magic, version, page size, flags (u32 each), root
//	              bucket (page u64, sequence u64), free list page, high-water
//	              mark, transaction, FNV-1a of all that (u64 each)
//	branch, leaf  header, count elements of 16 bytes, then their keys and values
//	              without gaps: pos u32 (from the element on), key size u32,
//	              child page u64; or flags u32, pos u32, key size u32, value
//	              size u32
//	free list     header, page ids u64; count 0xFFFF: the first is the count
//	bucket value  root page u64, sequence u64; root 0: a leaf page follows
const (
	pageHeader  = 16
	elementSize = 16

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10

	bucketElement = 0x01

	boltMagic   = 0xED0CDAED
	boltVersion = 2

	// maxDepth of a tree of at least two children a page is out of reach.
	maxDepth = 40
)

// newerFormat is a sound file of a format that this program does not know.
type newerFormat uint32

func (n newerFormat) Error() string {
	return fmt.Sprintf("format %d; this fencegate knows formats up to %d", uint32(n), format)
}

// verify reads a whole ledger file without bbolt and returns its meta record.
// It is stricter than bbolt's own check and ends on any input: each page is
// read once and used exactly once, keys are in order, page layouts leave no gap
// in which an element could be missing, and every value has its checksum. row,
// if not nil, is called for every row. Its errors are a newerFormat, the
// context's, or say what is damaged.
//
// Both meta pages must be valid. bbolt is content with one, the older if need
// be, and then forgets the last commit: right for a torn write, but a flipped
// bit looks the same. All that matters of a meta page lies in one sector, so a
// write of it is not torn, and both are always valid.
func verify(ctx context.Context, file io.ReaderAt, size int64, row func(*fence.Row)) (fence.Meta, error) {
	current, err := currentMeta(file, size)
	if err != nil {
		return fence.Meta{}, err
	}
	w := newWalker(ctx, file, current)
	buckets := make(map[string][]byte)
	err = w.tree(current.root, 0, nil, nil, func(flags uint32, key, value []byte) error {
		if flags != bucketElement {
			return fmt.Errorf("%.40q is no bucket", key)
		}
		buckets[string(key)] = bytes.Clone(value)
		return nil
	})
	if err != nil {
		return fence.Meta{}, err
	}
	meta, err := w.metaRecord(buckets)
	if err != nil {
		return fence.Meta{}, err
	}
	for _, kind := range []fence.Kind{fence.Mark, fence.Floor} {
		if err := w.bucket(buckets[string(bucketOf(kind))], rowVisitor(kind, row)); err != nil {
			return fence.Meta{}, err
		}
	}
	if err := w.freelist(current.freelist); err != nil {
		return fence.Meta{}, err
	}
	for id := range current.pages {
		if !w.isUsed(id) {
			return fence.Meta{}, fmt.Errorf("page %d is neither used nor free", id)
		}
	}
	return meta, nil
}

// metaRecord reads the bucket meta, and checks the names of all buckets once
// the format is known.
func (w *walker) metaRecord(buckets map[string][]byte) (fence.Meta, error) {
	values := make(map[string][]byte)
	err := w.bucket(buckets[string(metaBucket)], func(flags uint32, key, value []byte) error {
		if flags == 0 {
			values[string(key)] = bytes.Clone(value)
		}
		return nil
	})
	if err != nil {
		return fence.Meta{}, err
	}
	n, err := decodeFormat(values[string(formatKey)])
	if err != nil {
		return fence.Meta{}, err
	}
	if n > format {
		return fence.Meta{}, newerFormat(n)
	}
	if len(buckets) != 3 || len(values) != 2 {
		return fence.Meta{}, fmt.Errorf("%d buckets and %d meta values instead of 3 and 2", len(buckets), len(values))
	}
	return decodeMeta(values[string(recordKey)])
}

func rowVisitor(kind fence.Kind, visit func(*fence.Row)) leafVisitor {
	return func(flags uint32, key, value []byte) error {
		if flags != 0 {
			return rowError(kind, key, "it is no row")
		}
		raw, err := parseRow(kind, key, value)
		if err == nil && visit != nil {
			row := fence.Row{Key: fence.Key{Kind: kind, Path: fence.ResourceOf(string(key))}}
			raw.copyTo(&row)
			visit(&row)
		}
		return err
	}
}

// boltMeta is what matters of a meta page.
type boltMeta struct {
	pageSize              uint32
	root, freelist, pages uint64
	transaction           uint64
}

// currentMeta checks both meta pages and returns the later one.
func currentMeta(file io.ReaderAt, size int64) (boltMeta, error) {
	if size == 0 {
		return boltMeta{}, errors.New("it is empty")
	}
	first, err := readMeta(file, 0, 0)
	if err != nil {
		return boltMeta{}, err
	}
	second, err := readMeta(file, 1, first.pageSize)
	if err != nil {
		return boltMeta{}, err
	}
	if first.pageSize != second.pageSize || first.transaction == second.transaction {
		return boltMeta{}, errors.New("the meta pages contradict each other")
	}
	for _, m := range []boltMeta{first, second} {
		if err := m.fits(size); err != nil {
			return boltMeta{}, err
		}
	}
	if first.transaction > second.transaction {
		return first, nil
	}
	return second, nil
}

func (m *boltMeta) fits(size int64) error {
	if m.pages < 4 || m.pages > uint64(size)/uint64(m.pageSize) {
		return fmt.Errorf("%d pages of %d bytes do not fit in %d bytes: it is truncated", m.pages, m.pageSize, size)
	}
	return nil
}

func readMeta(file io.ReaderAt, id uint64, pageSize uint32) (boltMeta, error) {
	var page [pageHeader + 64]byte
	if _, err := file.ReadAt(page[:], int64(id)*int64(pageSize)); err != nil {
		return boltMeta{}, fmt.Errorf("meta page %d: %v", id, err)
	}
	body, order := page[pageHeader:], binary.NativeEndian
	if order.Uint32(body) != boltMagic || order.Uint32(body[4:]) != boltVersion {
		return boltMeta{}, fmt.Errorf("meta page %d: it is no bbolt file", id)
	}
	if order.Uint64(body[56:]) != fnv1a(body[:56]) || order.Uint64(page[:]) != id || order.Uint16(page[8:]) != metaPage {
		return boltMeta{}, fmt.Errorf("meta page %d: the checksum is wrong", id)
	}
	m := boltMeta{
		pageSize:    order.Uint32(body[8:]),
		root:        order.Uint64(body[16:]),
		freelist:    order.Uint64(body[32:]),
		pages:       order.Uint64(body[40:]),
		transaction: order.Uint64(body[48:]),
	}
	if m.pageSize < 1<<10 || m.pageSize > 1<<16 || m.pageSize&(m.pageSize-1) != 0 {
		return boltMeta{}, fmt.Errorf("meta page %d: the page size is %d", id, m.pageSize)
	}
	return m, nil
}

func fnv1a(b []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, c := range b {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return sum
}
