package integration

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// mostWithMarks is how much memory of its own fencegate may have, however many
// marks there are: half as much again as it has, and less than 64 MiB, so that the
// few marks of a short run would show, too, if memory grew with them. The ledger's
// pages, which the kernel can drop and read again, are not counted.
const mostWithMarks = 40 << 10 // KiB

// A ledger has a great many marks, and more of them are read and raised, in any
// order, than the memory has room for. Shown: memory does not grow with them.
func TestMemoryWithManyMarks(t *testing.T) {
	t.Parallel()
	marks, raises := harness.Scale(1_000_000), harness.Scale(500_000)
	s := harness.FencegateAsShipped(t, "--settle", "100ms")
	s.Stop()
	forgeMarks(t, filepath.Join(s.State, "ledger.db"), marks)
	s.Start()
	s.AwaitReady()
	before := memoryOf(t, s, "RssAnon:")

	const workers = 32
	client := &http.Client{Timeout: harness.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	raise := func(i int) bool {
		body := fmt.Sprintf(`{"resource":%q,"token":"2","owner":"another-owner-with-%012d"}`, markedPath(i), i)
		a, err := send(client, http.MethodPost, s.URL()+"/.well-known/fencegate/claims", fence.Stamp{}, strings.NewReader(body))
		if err != nil || a.String() != "200" {
			t.Errorf("claim of %s: %v, %v\n%s", markedPath(i), a, err, a.body)
		}
		return err == nil
	}
	start, most := time.Now(), before
	for part := range slices.Chunk(rand.Perm(marks)[:raises], raises/20) {
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := w; i < len(part) && raise(part[i]); i += workers {
				}
			})
		}
		all.Wait()
		most = max(most, memoryOf(t, s, "RssAnon:"))
	}
	t.Logf("%d marks: %d KiB at the start, at most %d KiB during %d raises in %v", marks, before, most, raises, time.Since(start))
	if most > mostWithMarks {
		t.Errorf("memory reached %d KiB, want %d at most", most, mostWithMarks)
	}
}

func markedPath(i int) string { return fmt.Sprintf("/data/team-%04d/objects/%08d.bin", i/500, i) }

// forgeMarks writes n marks with token 1 into a ledger that is not in use, each
// as fencegate would, but all at once: a version, token and time, the lengths of
// owner and client, both of them, and the CRC-32C over bucket tag, key length, key
// and all that.
func forgeMarks(t *testing.T, ledger string, n int) {
	t.Helper()
	db, err := bbolt.Open(ledger, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	const owner, client, batch = "owner-of-the-first-lock-acquired", "host-17/4711/nightly", 20_000
	for first := 0; first < n; first += batch {
		err := db.Update(func(tx *bbolt.Tx) error {
			for i := first; i < min(first+batch, n); i++ {
				key := markedPath(i)
				row := binary.BigEndian.AppendUint64([]byte{1}, 1)
				row = binary.BigEndian.AppendUint64(row, 1_700_000_000_000_000)
				row = append(row, byte(len(owner)), byte(len(client)))
				row = append(row, owner+client...)
				sum := crc32.Checksum(fmt.Appendf(nil, "\x00\x00%c%s%s", len(key), key, row), crc32.MakeTable(crc32.Castagnoli))
				if err := tx.Bucket([]byte("marks")).Put([]byte(key), binary.BigEndian.AppendUint32(row, sum)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
