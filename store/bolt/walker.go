package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// walker reads the pages of a bbolt file, each at most once.
type walker struct {
	ctx      context.Context
	file     io.ReaderAt
	pageSize int
	pages    uint64   // high-water mark: pages from here on mean nothing
	used     []uint64 // one bit per page
	read     int
	buffers  [maxDepth][]byte // by depth: parents' keys are needed below them
}

// newWalker returns one for the tree of a meta page that fits the file.
func newWalker(ctx context.Context, file io.ReaderAt, m boltMeta) *walker {
	w := &walker{ctx: ctx, file: file, pageSize: int(m.pageSize), pages: m.pages, used: make([]uint64, m.pages/64+1)}
	w.use(0)
	w.use(1)
	return w
}

// leafVisitor sees the elements of leaf pages in order. Its arguments are valid
// during the call.
type leafVisitor func(flags uint32, key, value []byte) error

func (w *walker) isUsed(id uint64) bool { return w.used[id/64]&(1<<(id%64)) != 0 }
func (w *walker) use(id uint64)         { w.used[id/64] |= 1 << (id % 64) }

// claim takes pages that nothing may have used before. It is what makes every
// walk end.
func (w *walker) claim(id, n uint64) error {
	if id < 2 || id >= w.pages || n > w.pages-id {
		return fmt.Errorf("page %d is outside of the file's %d pages", id, w.pages)
	}
	for end := id + n; id < end; id++ {
		if w.isUsed(id) {
			return fmt.Errorf("page %d is used twice", id)
		}
		w.use(id)
	}
	return nil
}

// page reads a page with its overflow pages.
func (w *walker) page(id uint64, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, fmt.Errorf("page %d: the tree is too deep", id)
	}
	if w.read++; w.read%1024 == 0 && w.ctx.Err() != nil {
		return nil, w.ctx.Err()
	}
	if err := w.claim(id, 1); err != nil {
		return nil, err
	}
	page := w.buffer(depth, w.pageSize)
	at := int64(id) * int64(w.pageSize)
	if _, err := w.file.ReadAt(page, at); err != nil {
		return nil, fmt.Errorf("page %d: %v", id, err)
	}
	if got := binary.NativeEndian.Uint64(page); got != id {
		return nil, fmt.Errorf("page %d claims to be page %d", id, got)
	}
	overflow := uint64(binary.NativeEndian.Uint32(page[12:]))
	if overflow == 0 {
		return page, nil
	}
	if err := w.claim(id+1, overflow); err != nil {
		return nil, err
	}
	page = w.buffer(depth, int(1+overflow)*w.pageSize)
	if _, err := w.file.ReadAt(page, at); err != nil {
		return nil, fmt.Errorf("page %d: %v", id, err)
	}
	return page, nil
}

func (w *walker) buffer(depth, n int) []byte {
	if cap(w.buffers[depth]) < n {
		w.buffers[depth] = make([]byte, n)
	}
	return w.buffers[depth][:n]
}

// tree visits the leaves under a page whose first key must be low and whose
// keys must be below high; nil is no bound.
//
// That a child starts with exactly the key under which its parent knows it is
// more than a search needs, but bbolt relies on it when it rewrites the child:
// otherwise the parent would keep the freed page beside the new one.
func (w *walker) tree(id uint64, depth int, low, high []byte, visit leafVisitor) error {
	page, err := w.page(id, depth)
	if err != nil {
		return err
	}
	switch kind := binary.NativeEndian.Uint16(page[8:]); kind {
	case leafPage:
		return leaf(id, page, low, high, visit)
	case branchPage:
		n, err := layout(id, page, low, high)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("page %d is an empty branch", id)
		}
		for i := range n {
			child := element(page, i)
			end := high
			if i+1 < n {
				end = element(page, i+1).key
			}
			if err := w.tree(child.page, depth+1, child.key, end, visit); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("page %d is of kind %#x, not a branch or leaf", id, kind)
	}
}

func leaf(id uint64, page, low, high []byte, visit leafVisitor) error {
	n, err := layout(id, page, low, high)
	if err != nil {
		return err
	}
	for i := range n {
		e := element(page, i)
		if err := visit(e.flags, e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

// bucket visits a bucket's leaves given its value in the root bucket.
func (w *walker) bucket(value []byte, visit leafVisitor) error {
	const header = 16
	if len(value) < header {
		return errors.New("a bucket is missing")
	}
	root, inline := binary.NativeEndian.Uint64(value), value[header:]
	switch {
	case root != 0 && len(inline) == 0:
		return w.tree(root, 0, nil, nil, visit)
	case root == 0 && len(inline) >= pageHeader && binary.NativeEndian.Uint16(inline[8:]) == leafPage:
		return leaf(0, inline, nil, nil, visit)
	default:
		return errors.New("a bucket has no valid root")
	}
}

// freelist claims the free pages.
func (w *walker) freelist(id uint64) error {
	page, err := w.page(id, 0)
	if err != nil {
		return err
	}
	if binary.NativeEndian.Uint16(page[8:]) != freelistPage {
		return fmt.Errorf("page %d is no free list", id)
	}
	n, ids := uint64(binary.NativeEndian.Uint16(page[10:])), page[pageHeader:]
	if n == 0xFFFF {
		n, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return fmt.Errorf("page %d: %d free pages do not fit", id, n)
	}
	for i := range n {
		if err := w.claim(binary.NativeEndian.Uint64(ids[8*i:]), 1); err != nil {
			return err
		}
	}
	return nil
}

// pageElement is one element of a branch (page) or leaf (flags and value).
type pageElement struct {
	page       uint64
	flags      uint32
	key, value []byte
}

// element returns an element of a page that passed layout.
func element(page []byte, i int) pageElement {
	at := pageHeader + i*elementSize
	head, order := page[at:], binary.NativeEndian
	if order.Uint16(page[8:]) == branchPage {
		start := at + int(order.Uint32(head))
		end := start + int(order.Uint32(head[4:]))
		return pageElement{page: order.Uint64(head[8:]), key: page[start:end]}
	}
	start := at + int(order.Uint32(head[4:]))
	middle := start + int(order.Uint32(head[8:]))
	end := middle + int(order.Uint32(head[12:]))
	return pageElement{flags: order.Uint32(head), key: page[start:middle], value: page[middle:end]}
}

// layout checks that a branch or leaf page is laid out as bbolt does it, keys
// and values following the elements without gaps, with keys that rise from
// exactly low and stay below high. It returns the number of elements. A count
// that a flipped bit made smaller shows as a gap.
func layout(id uint64, page, low, high []byte) (int, error) {
	order := binary.NativeEndian
	n := int(order.Uint16(page[10:]))
	isBranch := order.Uint16(page[8:]) == branchPage
	next := pageHeader + n*elementSize
	if next > len(page) {
		return 0, fmt.Errorf("page %d: %d elements do not fit", id, n)
	}
	if n == 0 && low != nil {
		return 0, fmt.Errorf("page %d is empty", id)
	}
	var last []byte
	for i := range n {
		at := pageHeader + i*elementSize
		head := page[at:]
		pos, keySize, valueSize := order.Uint32(head[4:]), order.Uint32(head[8:]), order.Uint32(head[12:])
		if isBranch {
			pos, keySize, valueSize = order.Uint32(head), order.Uint32(head[4:]), 0
		}
		end := int64(next) + int64(keySize) + int64(valueSize)
		if int64(at)+int64(pos) != int64(next) || keySize == 0 || end > int64(len(page)) {
			return 0, fmt.Errorf("page %d: element %d is out of place", id, i)
		}
		key := page[next : next+int(keySize)]
		if i == 0 && low != nil && !bytes.Equal(key, low) || i > 0 && bytes.Compare(key, last) <= 0 {
			return 0, fmt.Errorf("page %d: key %d is out of order", id, i)
		}
		last, next = key, int(end)
	}
	if high != nil && n > 0 && bytes.Compare(last, high) >= 0 {
		return 0, fmt.Errorf("page %d: its last key belongs to the next page", id)
	}
	return n, nil
}
