package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"fencegate/fence"
)

// maxLosses is how many losses are told one by one.
const maxLosses = 20

// losses are what cannot be read of a tree, in words.
type losses struct {
	texts []string
	more  int // not told one by one
}

func (l *losses) add(format string, args ...any) {
	if len(l.texts) == maxLosses {
		l.more++
		return
	}
	l.texts = append(l.texts, fmt.Sprintf(format, args...))
}

// root is the tree under one meta page, as far as it can be read.
type root struct {
	boltMeta
	// record is the meta record; its ID is "" if it cannot be read.
	record fence.Meta
	rows   map[fence.Kind]int
	lost   losses
}

// readTree walks the tree under a meta page as verify does, but goes on behind
// what is damaged and notes it. Whether a page is free is of no interest to it:
// where nothing was lost, all rows of that transaction were seen. Its errors are
// a newerFormat, the context's, and visit's.
func readTree(ctx context.Context, file io.ReaderAt, m boltMeta, visit func(*fence.Row) error) (*root, error) {
	r := &root{boltMeta: m, rows: map[fence.Kind]int{}}
	w := &salvager{walker: newWalker(ctx, file, m), lost: &r.lost}
	buckets := map[string][]byte{}
	err := w.tree("buckets", m.root, 0, nil, nil, func(flags uint32, key, value []byte) error {
		if flags == bucketElement {
			buckets[string(key)] = append([]byte(nil), value...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var newer newerFormat
	switch r.record, err = w.metaRecord(buckets); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &newer):
		return nil, err
	case err != nil:
		r.record = fence.Meta{}
		r.lost.add("the meta record: %v", err)
	}
	for _, kind := range []fence.Kind{fence.Mark, fence.Floor} {
		var stopped error
		see := rowVisitor(kind, func(row *fence.Row) {
			r.rows[kind]++
			if visit != nil && stopped == nil {
				stopped = visit(row)
			}
		})
		err := w.rows(kind, buckets[string(bucketOf(kind))], func(flags uint32, key, value []byte) error {
			if err := see(flags, key, value); err != nil {
				r.lost.add("%v", err)
			}
			return stopped
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// salvager walks like a walker, but past what is damaged.
type salvager struct {
	*walker
	lost *losses
}

// rows visits the leaves of a bucket.
func (w *salvager) rows(kind fence.Kind, value []byte, visit leafVisitor) error {
	const header = 16
	if len(value) >= header {
		if id := binary.NativeEndian.Uint64(value); id != 0 {
			return w.tree(kind.String()+"s", id, 0, nil, nil, visit)
		}
	}
	stopped := error(nil)
	err := w.bucket(value, func(flags uint32, key, value []byte) error {
		stopped = visit(flags, key, value)
		return stopped
	})
	if err != nil && stopped == nil {
		w.lost.add("all %ss: %v", kind, err)
	}
	return stopped
}

// tree visits what can be read of the leaves under a page. Its errors are
// visit's and the context's.
func (w *salvager) tree(what string, id uint64, depth int, low, high []byte, visit leafVisitor) error {
	page, err := w.page(id, depth)
	if err := w.ctx.Err(); err != nil {
		return err
	}
	n := 0
	if err == nil {
		if n, err = layout(id, page, low, high); err == nil && n == 0 && depth > 0 {
			err = fmt.Errorf("page %d is empty", id)
		}
	}
	if err != nil {
		w.lost.add("%s%s: %v", what, between(low, high), err)
		return nil
	}
	switch kind := binary.NativeEndian.Uint16(page[8:]); kind {
	case leafPage:
		for i := range n {
			e := element(page, i)
			if err := visit(e.flags, e.key, e.value); err != nil {
				return err
			}
		}
	case branchPage:
		if n == 0 {
			w.lost.add("%s: page %d is an empty branch", what, id)
		}
		for i := range n {
			child, end := element(page, i), high
			if i+1 < n {
				end = element(page, i+1).key
			}
			if err := w.tree(what, child.page, depth+1, child.key, end, visit); err != nil {
				return err
			}
		}
	default:
		w.lost.add("%s%s: page %d is of kind %#x, not a branch or leaf", what, between(low, high), id, kind)
	}
	return nil
}

// between names a range of keys.
func between(low, high []byte) string {
	const shown = 200
	low, high = low[:min(len(low), shown)], high[:min(len(high), shown)]
	switch {
	case low == nil && high == nil:
		return ""
	case high == nil:
		return fmt.Sprintf(" from %q on", low)
	case low == nil:
		return fmt.Sprintf(" before %q", high)
	default:
		return fmt.Sprintf(" from %q to before %q", low, high)
	}
}

// scan finds every row and meta record in the leaf pages of a file, whether a
// tree still leads there or not: of the transaction before, of one that failed,
// of pages whose parent is damaged. All of them were written for this ledger,
// and since rows only rise, none can make a fence lower. A checksum over key and
// value proves each. What cannot be read is passed over. Errors are the
// context's, a newerFormat and visit's.
//
// Keys hold no control characters, so that nothing a client sends can look like
// a page.
func scan(ctx context.Context, file io.ReaderAt, size int64, pageSize int, visit func(*fence.Row) error, record func(fence.Meta)) error {
	const maxOverflow = 32 // a leaf of two rows with the longest keys has fewer pages
	buf := make([]byte, (1+maxOverflow)*pageSize)
	for id := int64(2); (id+1)*int64(pageSize) <= size; id++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		page := buf[:pageSize]
		if _, err := file.ReadAt(page, id*int64(pageSize)); err != nil {
			continue
		}
		order := binary.NativeEndian
		if order.Uint64(page) != uint64(id) || order.Uint16(page[8:]) != leafPage {
			continue
		}
		if more := order.Uint32(page[12:]); more > 0 {
			page = buf[:int(1+min(more, maxOverflow))*pageSize]
			n, _ := file.ReadAt(page, id*int64(pageSize))
			page = page[:max(n, pageSize)]
		}
		if err := scanLeaf(page, visit, record); err != nil {
			return err
		}
	}
	return nil
}

// scanLeaf looks at each element by itself, wherever it says that it lies.
func scanLeaf(page []byte, visit func(*fence.Row) error, record func(fence.Meta)) error {
	order := binary.NativeEndian
	for at := pageHeader; at+elementSize <= len(page); at += elementSize {
		head := page[at:]
		flags, pos, keySize, valueSize := order.Uint32(head), order.Uint32(head[4:]), order.Uint32(head[8:]), order.Uint32(head[12:])
		start := int64(at) + int64(pos)
		end := start + int64(keySize) + int64(valueSize)
		if keySize == 0 || end > int64(len(page)) {
			continue
		}
		key, value := page[start:start+int64(keySize)], page[start+int64(keySize):end]
		if flags == bucketElement {
			const header = 16
			if len(value) >= header+pageHeader && order.Uint64(value) == 0 {
				if err := scanLeaf(value[header:], visit, record); err != nil {
					return err
				}
			}
			continue
		}
		if err := scanElement(key, value, visit, record); err != nil {
			return err
		}
	}
	return nil
}

func scanElement(key, value []byte, visit func(*fence.Row) error, record func(fence.Meta)) error {
	for _, kind := range []fence.Kind{fence.Mark, fence.Floor} {
		if _, ok := unseal(byte(kind), key, value); !ok {
			continue
		}
		raw, err := parseRow(kind, key, value)
		if err != nil {
			return nil
		}
		row := fence.Row{Key: fence.Key{Kind: kind, Path: fence.ResourceOf(string(key))}}
		raw.copyTo(&row)
		return visit(&row)
	}
	switch string(key) {
	case string(formatKey):
		if n, err := decodeFormat(value); err == nil && n > format {
			return newerFormat(n)
		}
	case string(recordKey):
		if m, err := decodeMeta(value); err == nil {
			record(m)
		}
	}
	return nil
}

// metaPagesOf returns the meta pages that are valid, the later one first, and
// what is wrong with the others.
func metaPagesOf(file io.ReaderAt, size int64) (valid []boltMeta, faults []error) {
	first, err := readMeta(file, 0, 0)
	if err == nil {
		err = first.fits(size)
	}
	sizes := []uint32{first.pageSize}
	if err == nil {
		valid = append(valid, first)
	} else {
		faults = append(faults, err)
		sizes = []uint32{uint32(os.Getpagesize())} // what bbolt makes them by default
		for n := uint32(1 << 10); n <= 1<<16; n *= 2 {
			sizes = append(sizes, n)
		}
	}
	var fault error
	for _, n := range sizes {
		second, err := readMeta(file, 1, n)
		if err == nil && second.pageSize != n {
			err = errors.New("meta page 1: another page size")
		}
		if err == nil {
			err = second.fits(size)
		}
		if err == nil {
			if valid = append(valid, second); len(valid) == 2 && second.transaction > first.transaction {
				valid[0], valid[1] = second, first
			}
			return valid, faults
		}
		if fault == nil {
			fault = err
		}
	}
	return valid, append(faults, fault)
}
