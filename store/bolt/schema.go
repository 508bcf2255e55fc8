package bolt

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
)

// The file, format 1. It has three buckets and no others. Integers are big
// endian; every value ends in a checksum, so that a flipped bit makes an error
// and never a lower mark.
//
//	meta    "format" → u32 format
//	        "ledger" → id 16 bytes, flags u8 (1 = clean), token kind u8 (0 any,
//	                   1 time), settle i64 ns, global floor u64
//	marks   fence key → row
//	floors  fence key → row
//
//	row     version u8 = 1, token u64, since i64 µs since 1970,
//	        owner length u8, client length u8, owner, client
//
//	checksum  CRC-32C of bucket tag u8, key length u16, key and the value
//	          before it, u32
//
// A row is 23 bytes plus owner, client and key. Whatever the format, "format"
// stays where it is: by it an older fencegate recognises a newer ledger.
const (
	format     = 1
	rowVersion = 1

	rowFixed    = 1 + 8 + 8 + 1 + 1
	recordSize  = 16 + 1 + 1 + 8 + 8
	checksumLen = 4

	flagClean = 1

	// maxKeyLen is bbolt's limit; a fence key is at most three times
	// fence.MaxPathLen.
	maxKeyLen = bbolt.MaxKeySize
)

var (
	metaBucket   = []byte("meta")
	marksBucket  = []byte("marks")
	floorsBucket = []byte("floors")

	formatKey = []byte("format")
	recordKey = []byte("ledger")
)

// Bucket tags, part of each checksum.
const (
	metaTag  = 'm'
	markTag  = byte(fence.Mark)
	floorTag = byte(fence.Floor)
)

func bucketOf(kind fence.Kind) []byte {
	if kind == fence.Floor {
		return floorsBucket
	}
	return marksBucket
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends the checksum to body.
func seal(tag byte, key, body []byte) []byte {
	return binary.BigEndian.AppendUint32(body, checksum(tag, key, body))
}

// unseal returns the value without its checksum, and whether it was right.
func unseal(tag byte, key, value []byte) ([]byte, bool) {
	n := len(value) - checksumLen
	if n < 0 {
		return nil, false
	}
	return value[:n], binary.BigEndian.Uint32(value[n:]) == checksum(tag, key, value[:n])
}

// checksum includes the key's length, so that no byte can move between key and
// value.
func checksum(tag byte, key, body []byte) uint32 {
	// Byte by byte: for crc32.Update the three would have to be on the heap.
	sum := ^uint32(0)
	for _, b := range [...]byte{tag, byte(len(key) >> 8), byte(len(key))} {
		sum = castagnoli[byte(sum)^b] ^ sum>>8
	}
	sum = crc32.Update(^sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, body)
}

// checkRow says what makes a row unfit to be stored. Owners are not shown.
func checkRow(row *fence.Row) error {
	path := row.Path.Key()
	switch {
	case path == "" || path[0] != '/' || len(path) > maxKeyLen:
		return fmt.Errorf("a row's path has %d bytes, not 1 to %d from a slash on", len(path), maxKeyLen)
	case row.Kind != fence.Mark && row.Kind != fence.Floor:
		return fmt.Errorf("%s: unknown kind of row %d", row.Path, row.Kind)
	case row.Token > fence.MaxToken:
		return fmt.Errorf("%s: token %s is above %s", row.Path, row.Token, fence.MaxToken)
	case len(row.Owner) > fence.MaxOwnerLen || len(row.Client) > fence.MaxClientLen:
		return fmt.Errorf("%s: owner or client is too long (%d and %d bytes)", row.Path, len(row.Owner), len(row.Client))
	}
	return nil
}

// encodeRow returns the stored value of a row that passed checkRow.
func encodeRow(row *fence.Row, key []byte) []byte {
	return appendRow(make([]byte, 0, rowFixed+len(row.Owner)+len(row.Client)+checksumLen), row, key)
}

// appendRow appends the stored value of a row that passed checkRow to b.
func appendRow(b []byte, row *fence.Row, key []byte) []byte {
	body := append(b, rowVersion)
	body = binary.BigEndian.AppendUint64(body, uint64(row.Token))
	body = binary.BigEndian.AppendUint64(body, uint64(row.Since.UnixMicro()))
	body = append(body, byte(len(row.Owner)), byte(len(row.Client)))
	body = append(body, row.Owner...)
	body = append(body, row.Client...)
	return binary.BigEndian.AppendUint32(body, checksum(byte(row.Kind), key, body[len(b):]))
}

// rawRow is a stored row whose owner and client still lie in the file.
type rawRow struct {
	token         fence.Token
	since         int64
	owner, client []byte
}

// parseRow reads a stored value strictly: it accepts exactly what encodeRow
// makes.
func parseRow(kind fence.Kind, key, value []byte) (rawRow, error) {
	body, ok := unseal(byte(kind), key, value)
	switch {
	case len(key) == 0 || key[0] != '/':
		return rawRow{}, rowError(kind, key, "the key is no path")
	case !ok:
		return rawRow{}, rowError(kind, key, "the checksum is wrong")
	case len(body) < rowFixed || body[0] != rowVersion:
		return rawRow{}, rowError(kind, key, "unknown version")
	}
	row := rawRow{
		token: fence.Token(binary.BigEndian.Uint64(body[1:])),
		since: int64(binary.BigEndian.Uint64(body[9:])),
	}
	owner, client := int(body[17]), int(body[18])
	switch {
	case len(body) != rowFixed+owner+client || owner > fence.MaxOwnerLen || client > fence.MaxClientLen:
		return rawRow{}, rowError(kind, key, "wrong length")
	case row.token == fence.NoToken || row.token > fence.MaxToken:
		return rawRow{}, rowError(kind, key, "impossible token")
	}
	row.owner, row.client = body[rowFixed:rowFixed+owner], body[rowFixed+owner:]
	return row, nil
}

func rowError(kind fence.Kind, key []byte, text string) error {
	const shown = 200
	if len(key) > shown {
		key = key[:shown]
	}
	return fmt.Errorf("%s of %q: %s", kind, key, text)
}

// copyTo copies everything but the key, which the caller already has.
func (r rawRow) copyTo(row *fence.Row) {
	row.Token = r.token
	row.Owner = fence.Owner(r.owner)
	row.Client = string(r.client)
	row.Since = time.UnixMicro(r.since).UTC()
}

var errMetaRecord = errors.New("the meta record is damaged")

func encodeFormat(n uint32) []byte {
	return seal(metaTag, formatKey, binary.BigEndian.AppendUint32(nil, n))
}

func decodeFormat(value []byte) (uint32, error) {
	body, ok := unseal(metaTag, formatKey, value)
	if !ok || len(body) != 4 || binary.BigEndian.Uint32(body) == 0 {
		return 0, errMetaRecord
	}
	return binary.BigEndian.Uint32(body), nil
}

// encodeMeta returns the stored meta record. The id is 32 hex digits.
func encodeMeta(m fence.Meta) ([]byte, error) {
	body, err := hex.AppendDecode(make([]byte, 0, recordSize+checksumLen), []byte(m.ID))
	if err != nil || len(body) != 16 {
		return nil, fmt.Errorf("%q is no ledger id", m.ID)
	}
	var flags, kind byte
	if m.Clean {
		flags = flagClean
	}
	switch m.Kind {
	case fence.AnyTokens:
	case fence.TimeTokens:
		kind = 1
	default:
		return nil, fmt.Errorf("%q is no token kind", m.Kind)
	}
	body = append(body, flags, kind)
	body = binary.BigEndian.AppendUint64(body, uint64(m.Settle))
	body = binary.BigEndian.AppendUint64(body, uint64(m.Global))
	return seal(metaTag, recordKey, body), nil
}

func decodeMeta(value []byte) (fence.Meta, error) {
	body, ok := unseal(metaTag, recordKey, value)
	if !ok || len(body) != recordSize || body[16] > flagClean || body[17] > 1 {
		return fence.Meta{}, errMetaRecord
	}
	m := fence.Meta{
		ID:     hex.EncodeToString(body[:16]),
		Clean:  body[16] == flagClean,
		Kind:   fence.AnyTokens,
		Settle: time.Duration(binary.BigEndian.Uint64(body[18:])),
		Global: fence.Token(binary.BigEndian.Uint64(body[26:])),
	}
	if body[17] == 1 {
		m.Kind = fence.TimeTokens
	}
	if m.Settle < 0 || m.Global > fence.MaxToken {
		return fence.Meta{}, errMetaRecord
	}
	return m, nil
}
