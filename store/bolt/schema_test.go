package bolt

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

func FuzzRow(f *testing.F) {
	f.Add(false, "/a", uint64(1), int64(0), "", "")
	f.Add(true, "/", uint64(fence.MaxToken), int64(-1), "owner", "client")
	f.Add(false, "/ü/"+strings.Repeat("x", 12<<10), uint64(1<<53), int64(math.MaxInt64), strings.Repeat("~", 128), "日本")
	f.Add(true, "/a", uint64(7), int64(math.MinInt64), "\x00", strings.Repeat("c", 128))
	f.Fuzz(func(t *testing.T, isFloor bool, path string, token uint64, since int64, owner, client string) {
		row := fence.Row{Key: fence.Key{Path: fence.ResourceOf(path)}, Token: fence.Token(token),
			Owner: fence.Owner(owner), Client: client, Since: time.UnixMicro(since).UTC()}
		if isFloor {
			row.Kind = fence.Floor
		}
		if checkRow(&row) != nil || row.Token == fence.NoToken {
			return
		}
		key := []byte(path)
		value := encodeRow(&row, key)
		if len(value) > 64+len(owner)+len(client) {
			t.Errorf("a row of %d bytes", len(value))
		}
		raw, err := parseRow(row.Kind, key, value)
		if err != nil {
			t.Fatal(err)
		}
		got := fence.Row{Key: row.Key}
		raw.copyTo(&got)
		if got != row {
			t.Errorf("%#v came back as %#v", row, got)
		}
		if _, err := parseRow(1-row.Kind, key, value); err == nil {
			t.Error("a mark passed as a floor")
		}
		if _, err := parseRow(row.Kind, append(key, 'x'), value); err == nil {
			t.Error("a row passed under another key")
		}
	})
}

// FuzzParseRow: nothing but what encodeRow makes is accepted, even under a
// right checksum.
func FuzzParseRow(f *testing.F) {
	r := fence.Row{Key: fence.Key{Path: fence.ResourceOf("/a")}, Token: 1, Owner: "o", Client: "c"}
	f.Add("/a", encodeRow(&r, []byte("/a"))[:rowFixed+2])
	f.Add("/", []byte{})
	f.Add("", []byte{1})
	f.Fuzz(func(t *testing.T, key string, body []byte) {
		if _, err := parseRow(fence.Mark, []byte(key), body); err == nil && len(body) < rowFixed+checksumLen {
			t.Error("too short, but accepted")
		}
		value := seal(markTag, []byte(key), bytes.Clone(body))
		raw, err := parseRow(fence.Mark, []byte(key), value)
		if err != nil {
			return
		}
		row := fence.Row{Key: fence.Key{Path: fence.ResourceOf(key)}}
		raw.copyTo(&row)
		if again := encodeRow(&row, []byte(key)); !bytes.Equal(again, value) {
			t.Errorf("%x is accepted, but would be written as %x", value, again)
		}
	})
}

func FuzzParseMeta(f *testing.F) {
	whole, err := encodeMeta(fence.Meta{ID: strings.Repeat("0f", 16), Kind: fence.TimeTokens, Clean: true, Settle: 1, Global: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[:recordSize])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		value := seal(metaTag, recordKey, bytes.Clone(body))
		m, err := decodeMeta(value)
		if err != nil {
			return
		}
		if again, err := encodeMeta(m); err != nil || !bytes.Equal(again, value) {
			t.Errorf("%x is accepted, but would be written as %x, error %v", value, again, err)
		}
		value[0] ^= 1
		if _, err := decodeMeta(value); err == nil {
			t.Error("the checksum is not looked at")
		}
	})
}

func TestRowBitFlips(t *testing.T) {
	r := fence.Row{Key: fence.Key{Path: fence.ResourceOf("/a/b")}, Token: 1 << 40, Owner: "owner", Client: "client", Since: time.UnixMicro(1.7e15)}
	key := []byte("/a/b")
	value := encodeRow(&r, key)
	for bit := range 8 * len(value) {
		value[bit/8] ^= 1 << (bit % 8)
		if _, err := parseRow(fence.Mark, key, value); err == nil {
			t.Errorf("bit %d: not noticed", bit)
		} else if strings.Contains(err.Error(), "owner") {
			t.Errorf("the error shows the owner: %v", err)
		}
		value[bit/8] ^= 1 << (bit % 8)
	}
	if _, err := parseRow(fence.Mark, key, value); err != nil {
		t.Errorf("the unchanged row: %v", err)
	}
}

func TestChecksumSeparatesKeyAndValue(t *testing.T) {
	if checksum(markTag, []byte("/ab"), []byte("c")) == checksum(markTag, []byte("/a"), []byte("bc")) {
		t.Error("a byte can move from the key to the value")
	}
}
