package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// makePage lays out a page as bbolt does.
func makePage(kind uint16, size int, keys ...string) []byte {
	page, order := make([]byte, size), binary.NativeEndian
	order.PutUint16(page[8:], kind)
	order.PutUint16(page[10:], uint16(len(keys)))
	next := pageHeader + len(keys)*elementSize
	for i, key := range keys {
		at := pageHeader + i*elementSize
		pos, keySize := page[at+4:], page[at+8:]
		if kind == branchPage {
			pos, keySize = page[at:], page[at+4:]
		}
		order.PutUint32(pos, uint32(next-at))
		order.PutUint32(keySize, uint32(len(key)))
		next += copy(page[next:], key)
	}
	return page
}

func TestLayout(t *testing.T) {
	good := func(kind uint16) []byte { return makePage(kind, 256, "/a", "/b", "/c") }
	edited := func(f func(page []byte)) []byte {
		page := good(leafPage)
		f(page)
		return page
	}
	for _, test := range []struct {
		name      string
		page      []byte
		low, high string
		want      string
	}{
		{"leaf", good(leafPage), "/a", "/d", ""},
		{"branch", good(branchPage), "/a", "/d", ""},
		{"no bounds", good(leafPage), "", "", ""},
		{"empty root", makePage(leafPage, 64), "", "", ""},
		{"empty child", makePage(leafPage, 64), "/a", "", "empty"},
		{"other first key", good(leafPage), "/A", "/d", "order"},
		{"last key is the next page's", good(leafPage), "/a", "/c", "next page"},
		{"key beyond the next page's", good(branchPage), "/a", "/bb", "next page"},
		{"falling", makePage(leafPage, 256, "/a", "/c", "/b"), "", "", "order"},
		{"falling branch", makePage(branchPage, 256, "/a", "/c", "/b"), "", "", "order"},
		{"twice", makePage(leafPage, 256, "/a", "/a"), "", "", "order"},
		{"no key", makePage(leafPage, 256, "", "/a"), "", "", "place"},
		{"fewer elements", edited(func(p []byte) { p[10] = 2 }), "/a", "/d", "place"},
		{"more elements", edited(func(p []byte) { p[10] = 4 }), "/a", "/d", "place"},
		{"many elements", edited(func(p []byte) { p[10], p[11] = 0xFF, 0xFF }), "/a", "/d", "fit"},
		{"gap", edited(func(p []byte) { p[pageHeader+elementSize+4]++ }), "/a", "/d", "place"},
		{"overlap", edited(func(p []byte) { p[pageHeader+elementSize+4]-- }), "/a", "/d", "place"},
		{"long key", edited(func(p []byte) { p[pageHeader+2*elementSize+11] = 0xFF }), "/a", "/d", "place"},
		{"long value", edited(func(p []byte) { p[pageHeader+2*elementSize+15] = 0xFF }), "/a", "/d", "place"},
		{"value to the end", edited(func(p []byte) { p[pageHeader+2*elementSize+12] = 256 - 70 }), "/a", "/d", ""},
		{"value past the end", edited(func(p []byte) { p[pageHeader+2*elementSize+12] = 256 - 69 }), "/a", "/d", "place"},
	} {
		var low, high []byte
		if test.low != "" {
			low = []byte(test.low)
		}
		if test.high != "" {
			high = []byte(test.high)
		}
		_, err := layout(9, test.page, low, high)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestVerifyMeta: no bit of either meta page's content may be wrong.
func TestVerifyMeta(t *testing.T) {
	file, _ := sample(t, 40)
	for _, page := range []int{0, 4096} {
		for bit := range 8 * 64 {
			at := page + pageHeader + bit/8
			file[at] ^= 1 << (bit % 8)
			if _, err := verified(file); err == nil {
				t.Errorf("byte %d, bit %d: not noticed", at, bit%8)
			}
			file[at] ^= 1 << (bit % 8)
		}
	}
	if _, err := verified(file); err != nil {
		t.Errorf("the unchanged file: %v", err)
	}
	copy(file[:4096], file[4096:8192])
	if _, err := verified(file); err == nil {
		t.Error("page 1 over page 0: not noticed")
	}
}

// TestVerifyFreelist: the free list has no checksum, but each page must be
// either free or used, once.
func TestVerifyFreelist(t *testing.T) {
	file, _ := sample(t, 400)
	meta, err := currentMeta(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	page := file[meta.freelist*uint64(meta.pageSize):][:meta.pageSize]
	n := binary.NativeEndian.Uint16(page[10:])
	if n < 2 {
		t.Fatalf("the sample has %d free pages", n)
	}
	for name, f := range map[string]func(){
		"one less":     func() { binary.NativeEndian.PutUint16(page[10:], n-1) },
		"one more":     func() { binary.NativeEndian.PutUint16(page[10:], n+1) },
		"too many":     func() { binary.NativeEndian.PutUint16(page[10:], 0xFFFE) },
		"far too many": func() { binary.NativeEndian.PutUint16(page[10:], 0xFFFF) },
		"and a used page": func() {
			binary.NativeEndian.PutUint16(page[10:], n+1)
			binary.NativeEndian.PutUint64(page[16+8*n:], meta.root)
		},
		"a used page":   func() { binary.NativeEndian.PutUint64(page[16:], meta.root) },
		"a meta page":   func() { binary.NativeEndian.PutUint64(page[16:], 1) },
		"itself":        func() { binary.NativeEndian.PutUint64(page[16:], meta.freelist) },
		"a page twice":  func() { copy(page[16:24], page[24:32]) },
		"no such page":  func() { binary.NativeEndian.PutUint64(page[16:], meta.pages) },
		"not free list": func() { page[8] = leafPage },
	} {
		before := bytes.Clone(page)
		f()
		if _, err := verified(file); err == nil {
			t.Errorf("%s: not noticed", name)
		}
		copy(page, before)
	}
	if _, err := verified(file); err != nil {
		t.Errorf("the unchanged file: %v", err)
	}
}

// TestVerifyRowFlags: a row that a flipped bit made a bucket would be missing.
func TestVerifyRowFlags(t *testing.T) {
	file, rows := sample(t, 40)
	spoiled := 0
	for at := 2 * 4096; at < len(file); at += 4096 {
		page := file[at : at+4096]
		if binary.NativeEndian.Uint16(page[8:]) != leafPage || !bytes.Contains(page, []byte("/some/path/")) {
			continue
		}
		for _, bit := range []byte{bucketElement, 2} {
			page[pageHeader] ^= bit
			if got, err := verified(file); err != nil {
				spoiled++
			} else if len(got) != len(rows) {
				t.Errorf("page %d: %d of %d rows", at/4096, len(got), len(rows))
			}
			page[pageHeader] ^= bit
		}
	}
	if spoiled == 0 {
		t.Error("no flag was noticed")
	}
}

// TestVerifyDepth: a chain of pages ends at some depth.
func TestVerifyDepth(t *testing.T) {
	const pages = 100
	file := make([]byte, pages*4096)
	for id := uint64(2); id < pages; id++ {
		page := makePage(branchPage, 4096, "/a")
		binary.NativeEndian.PutUint64(page, id)
		binary.NativeEndian.PutUint64(page[pageHeader+8:], id+1)
		copy(file[id*4096:], page)
	}
	w := &walker{ctx: t.Context(), file: bytes.NewReader(file), pageSize: 4096, pages: pages, used: make([]uint64, 2)}
	err := w.tree(2, 0, nil, nil, func(uint32, []byte, []byte) error { return errors.New("there are no leaves") })
	if err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("got %v", err)
	}
	if w.read != maxDepth {
		t.Errorf("it read %d pages", w.read)
	}
}
