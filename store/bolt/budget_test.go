package bolt

import (
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"fencegate/fence"
)

// TestChecksum compares the checksum with its definition.
func TestChecksum(t *testing.T) {
	for _, n := range []int{0, 1, 22, 255, 256, 257, maxKeyLen} {
		for _, tag := range []byte{markTag, floorTag, metaTag} {
			key, body := []byte(strings.Repeat("k", n)), []byte("value")
			whole := slices.Concat([]byte{tag, byte(n >> 8), byte(n)}, key, body)
			if got, want := checksum(tag, key, body), crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli)); got != want {
				t.Errorf("%q, key of %d bytes: %x, want %x", tag, n, got, want)
			}
		}
	}
}

// TestAllocationsOfRows counts exactly what a row costs beside bbolt: what is
// stored, and of a row that is read owner and client.
func TestAllocationsOfRows(t *testing.T) {
	row := nth(7, 34)
	key := []byte(row.Path.Key())
	value := encodeRow(&row, key)
	count := func(name string, allocs float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(200, f); got != allocs {
			t.Errorf("%s: %v allocations, want %v", name, got, allocs)
		}
	}
	count("checking", 0, func() {
		if err := checkRow(&row); err != nil {
			t.Fatal(err)
		}
	})
	count("encoding", 1, func() { value = encodeRow(&row, key) })
	room := make([]byte, 0, 2*len(value))
	count("encoding, as a commit does", 0, func() { room = appendRow(appendRow(room[:0], &row, key), &row, key) })
	if !slices.Equal(room, slices.Concat(value, value)) {
		t.Errorf("two rows in a buffer are % x, want % x twice", room, value)
	}
	count("parsing", 0, func() {
		if _, err := parseRow(fence.Mark, key, value); err != nil {
			t.Fatal(err)
		}
	})
	var back fence.Row
	count("reading", 2, func() {
		raw, err := parseRow(fence.Mark, key, value)
		if err != nil {
			t.Fatal(err)
		}
		raw.copyTo(&back)
	})
	if back.Key = row.Key; back.Token != row.Token || back.Owner != row.Owner || back.Client != row.Client || !back.Since.Equal(row.Since) {
		t.Errorf("comes back as %+v", back)
	}
}
