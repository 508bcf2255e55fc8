package integration

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"fencegate/integration/harness"
)

// Without a sound ledger that belongs to the storage nothing is served, and no
// empty one takes its place.
func TestStartWithoutASoundLedger(t *testing.T) {
	t.Parallel()
	used, other := stoppedServer(t), stoppedServer(t)
	for _, c := range []struct {
		name    string
		prepare func(*place)
		code    int
		want    []string
	}{
		{"lost", func(p *place) { p.remove(p.ledger()) }, 66, []string{"ledger.db", "there is no ledger", "--init", "backup"}},
		{"lost with its directory", func(p *place) { p.remove(p.state) }, 66, []string{"ledger.db", "there is no ledger"}},
		{"lost, --init", func(p *place) { p.remove(p.state); p.args = []string{"--init"} }, 65, []string{p65, "guarded by ledger", "ledger-id"}},
		{"there, --init", func(p *place) { p.args = []string{"--init"} }, 73, []string{"ledger.db", "already initialised", "drop --init"}},
		{"0 bytes", func(p *place) { p.rewrite(func([]byte) []byte { return nil }) }, 65, []string{"ledger.db", "damaged", "empty", "backup"}},
		{"0 bytes, --init", func(p *place) { p.rewrite(func([]byte) []byte { return nil }); p.args = []string{"--init"} }, 73, []string{"ledger.db", "already initialised"}},
		{"truncated", func(p *place) { p.rewrite(func(b []byte) []byte { return b[:len(b)/2] }) }, 65, []string{"ledger.db", "damaged", "truncated", "backup"}},
		{"garbage", func(p *place) {
			p.rewrite(func(b []byte) []byte { return bytes.Repeat([]byte("garbage\n"), len(b)/8) })
		}, 65, []string{"ledger.db", "damaged", "backup"}},
		{"a flipped bit in a mark", func(p *place) { p.rewrite(flipMark) }, 65, []string{"ledger.db", "damaged", "checksum", "backup"}},
		{"a flipped bit in its head", func(p *place) { p.rewrite(func(b []byte) []byte { b[60] ^= 1; return b }) }, 65, []string{"ledger.db", "damaged", "backup"}},
		{"suspect", func(p *place) {
			p.write(filepath.Join(p.state, "ledger.suspect"), "2026-01-02T03:04:05Z input/output error\n")
		}, 65, []string{"ledger.suspect", "input/output error", "fencegate ledger repair --state"}},
		{"of a later format", (*place).forgeFormat, 65, []string{"ledger.db", "newer format", "format 2", "use the fencegate that wrote it"}},
		{"of another storage", func(p *place) { p.copy(other.State, p.state) }, 65, []string{"ledger.db", "another ledger", "its id is", "expected"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := usedPlace(t, used)
			c.prepare(p)
			p.fails(c.code, c.want)
		})
	}
	t.Run("none yet", func(t *testing.T) {
		t.Parallel()
		newPlace(t).fails(66, []string{"ledger.db", "there is no ledger", "--init"})
	})
}

// The storage is not mounted: what is served in its place must not look like an
// empty store. The command that is told makes new storage of it.
func TestStartWithoutTheStorage(t *testing.T) {
	t.Parallel()
	p := usedPlace(t, stoppedServer(t))
	p.remove(p.data)
	want := []string{p.data, p.state, "has marks already", "mounted there missing"}
	p.fails(65, want)
	if _, err := os.Lstat(p.data); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
	if err := os.Mkdir(p.data, 0o755); err != nil {
		t.Fatal(err)
	}
	p.fails(65, want)
	told := harness.Start(t, "fencegate", p.command())
	told.Wait()
	_, command, _ := strings.Cut(strings.Join(told.Stderr(), ""), "from now on: ")
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	s := harness.Fencegate(t, "--state", p.state, "--upstream", "dir:"+p.data)
	says(t, s, "412 stale_token", "PUT", report, stampOf(6, "old"), "six")
	says(t, s, "201", "PUT", report, stampOf(7, "holder"), "seven")
}

const p65 = "another ledger than the one that guards the storage"

func (p *place) remove(path string) {
	if err := os.RemoveAll(path); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) write(path, content string) {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) rewrite(change func([]byte) []byte) {
	p.write(p.ledger(), string(change(contentIfAny(p.t, p.ledger()))))
}

func (p *place) copy(from, to string) {
	p.remove(to)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		p.t.Fatal(err)
	}
}

// flipMark changes one bit behind the path of a mark, in all copies that the
// file has of it.
func flipMark(b []byte) []byte {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(report))
		if i < 0 {
			return b
		}
		at += i + len(report)
		b[at+8] ^= 1 // the lowest bit of the token, behind one byte of version
	}
}

// forgeFormat gives the ledger the format number 2, as a later fencegate would:
// a big-endian number and the CRC-32C over bucket tag, key length, key, number.
func (p *place) forgeFormat() {
	db, err := bbolt.Open(p.ledger(), 0o600, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	number := binary.BigEndian.AppendUint32(nil, 2)
	sum := crc32.Checksum([]byte("m\x00\x06format"+string(number)), crc32.MakeTable(crc32.Castagnoli))
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"), binary.BigEndian.AppendUint32(number, sum))
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		p.t.Fatal(err)
	}
}
