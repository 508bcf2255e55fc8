package integration

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// fencegate's system calls while holders that get ever newer write. Shown: S5
// durable, all that fsync has to confirm of a mark has been confirmed before the
// first byte of the write that needs it goes to the store.
func TestMarkIsDurableBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	const writes = 8
	store, s := overFakeStore(t)
	trace := traced(t, s, "-yy", "-s", "40",
		"-e", "trace=fdatasync,fsync,msync,write,writev,sendto,sendmsg", "-e", "inject=fdatasync:delay_enter=30000")
	for i := range writes {
		says(t, s, "201", "PUT", fmt.Sprintf("/object/%d", i), stampOf(7, "holder"), "text")
	}
	s.Stop()
	var text []byte
	var faults []string
	harness.Eventually(t, "strace to have written all down", func() (any, bool) {
		var err error
		if text, err = os.ReadFile(trace); err != nil {
			t.Fatal(err)
		}
		var sent []string
		sent, faults = traceOrder(string(text), store.Addr())
		return string(text), len(sent) == writes
	})
	for _, fault := range faults {
		t.Error(fault)
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}

var (
	traceLine    = regexp.MustCompile(`(?m)^(\d+) +(?:<\.\.\. )?(\w+)(.*)$`)
	traceRequest = regexp.MustCompile(`"PUT (/object/\d+) HTTP/1\.1`)
)

// traceOrder returns the writes that were sent to addr, and what was not in
// order: one with a sync of the ledger still to end, or with none since the
// write before.
func traceOrder(trace, addr string) (sent, faults []string) {
	running := map[string]bool{} // syncs of the ledger, by thread
	synced := 0                  // since the last write
	for _, m := range traceLine.FindAllStringSubmatch(trace, -1) {
		thread, call, rest := m[1], m[2], m[3]
		switch call {
		case "fdatasync", "fsync", "msync":
			switch {
			case strings.Contains(rest, "/ledger.db>") && strings.Contains(rest, "unfinished"):
				running[thread] = true
			case running[thread], strings.Contains(rest, "/ledger.db>"):
				delete(running, thread)
				if strings.Contains(rest, "= 0") {
					synced++
				}
			}
		case "write", "writev", "sendto", "sendmsg":
			request := traceRequest.FindStringSubmatch(rest)
			if request == nil || !strings.Contains(rest, "->"+addr+"]") {
				continue
			}
			sent = append(sent, request[1])
			if len(running) > 0 || synced == 0 {
				faults = append(faults, fmt.Sprintf("%s goes to the store with %d syncs confirmed and %d running", request[1], synced, len(running)))
			}
			synced = 0
		}
	}
	return sent, faults
}

// What is not in order is found.
func TestTraceOrder(t *testing.T) {
	const (
		sync  = "7 fdatasync(5</s/ledger.db>) = 0 (DELAYED)\n"
		begin = "7 fdatasync(5</s/ledger.db> <unfinished ...>\n"
		end   = "7 <... fdatasync resumed>) = 0\n"
		other = "7 fdatasync(5</s/spool/1>) = 0\n"
		put   = `8 write(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, "PUT /object/1 HTTP/1.1\r\n"..., 99) = 99` + "\n"
	)
	for trace, want := range map[string]int{
		sync + put: 0, begin + end + put: 0, sync + put + begin + end + put: 0,
		put: 1, other + put: 1, begin + put + end: 1, sync + begin + put: 1, sync + put + put: 1, put + sync: 1,
		"7 fdatasync(5</s/ledger.db>) = -1 EIO\n" + put: 1,
	} {
		sent, faults := traceOrder(trace, "127.0.0.1:2")
		if len(faults) != want || len(sent) != strings.Count(trace, "PUT") {
			t.Errorf("%ssent %q, faults %q, want %d", trace, sent, faults, want)
		}
	}
	if sent, _ := traceOrder(put, "127.0.0.1:3"); sent != nil {
		t.Errorf("%q went to another", sent)
	}
}
