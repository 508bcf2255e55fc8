package integration

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// run is one run of fencegate serve at a place, whose arguments may change
// between runs.
type run struct {
	*harness.Process
	t           testing.TB
	data, admin string // addresses
}

// serves starts fencegate with args beside what the place says, and waits until
// it has its addresses.
func (p *place) serves(args ...string) *run {
	p.t.Helper()
	own := p.args
	p.args = append(append([]string{"--max-wait", "300ms"}, own...), args...)
	r := &run{Process: harness.Start(p.t, "fencegate", p.command()), t: p.t}
	p.args = own
	harness.Eventually(p.t, "fencegate to serve", func() (any, bool) {
		select {
		case <-r.Exited():
			p.t.Fatalf("it ended: %q", r.Stderr())
		default:
		}
		for _, line := range r.Stderr() {
			var record struct{ Msg, Data, Admin string }
			if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "serving" {
				r.data, r.admin = record.Data, record.Admin
			}
		}
		return r.Stderr(), r.data != ""
	})
	return r
}

// put writes an object with a token and returns the answer.
func (r *run) put(path string, token fence.Token) answer {
	r.t.Helper()
	a, err := send(fresh, http.MethodPut, "http://"+r.data+path, stampOf(token, "holder"), strings.NewReader("text"))
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// holdsFor fails unless nothing protected begins for another least seconds, up
// to settle.
func (r *run) holdsFor(least, settle int) {
	r.t.Helper()
	r.holdsToken(1, least, settle)
}

func (r *run) holdsToken(token fence.Token, least, settle int) {
	r.t.Helper()
	var a answer
	harness.Eventually(r.t, "the ledger to take the mark", func() (any, bool) {
		a = r.put("/held", token)
		return a, a.String() != "503 ledger_unavailable" // a slow disk, which is told first
	})
	n, err := strconv.Atoi(a.header.Get("Retry-After"))
	if a.String() != "503 recovering" || err != nil || n < least || n > settle {
		r.t.Fatalf("a write is answered %v with Retry-After %q, want 503 recovering and %d to %d", a, a.header.Get("Retry-After"), least, settle)
	}
}

// holdsNothing fails unless writes begin.
func (r *run) holdsNothing() {
	r.t.Helper()
	var a answer
	harness.Eventually(r.t, "the ledger to take the mark", func() (any, bool) {
		a = r.put("/held", 1)
		return a, a.String() != "503 ledger_unavailable"
	})
	if a.status/100 != 2 {
		r.t.Fatalf("a write is answered %v", a)
	}
}

// stops ends it with TERM and compares the exit code.
func (r *run) stops(code int) {
	r.t.Helper()
	r.Signal(syscall.SIGTERM)
	if got := r.Wait(); got != code {
		r.t.Fatalf("exit code %d, want %d", got, code)
	}
}

// startedOnce is where fencegate has stopped clean without a write.
func startedOnce(t testing.TB) *place {
	t.Helper()
	p := newPlace(t)
	if err := os.Mkdir(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	p.serves("--init").stops(0)
	return p
}

// The settle time is changed between runs, in both directions, and so is the
// kind of the storage. Shown: A2's part in S1, whichever of the run before and
// this one needs the longer hold decides.
func TestHoldIsTheLongerOfTwo(t *testing.T) {
	t.Parallel()
	store := "http://127.0.0.1:1"
	for name, c := range map[string]struct{ before, after []string }{
		"lowered":                 {[]string{"--settle", "20s"}, []string{"--settle", "100ms"}},
		"raised":                  {[]string{"--settle", "100ms"}, []string{"--settle", "20s"}},
		"from a directory":        {nil, []string{"--upstream", store, "--settle", "20s"}},
		"to a directory":          {[]string{"--upstream", store, "--settle", "20s"}, nil},
		"from none, by the flag":  {[]string{"--settle", "0s"}, []string{"--settle", "20s"}},
		"the same before and now": {[]string{"--settle", "20s"}, []string{"--settle", "20s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startedOnce(t)
			p.serves(c.before...).Kill() // as soon as it serves: the flag is cleared before anything begins
			p.serves(c.after...).holdsFor(10, 20)
		})
	}
}

// A run with a long settle time is killed, and so is the next one, with a short
// one, before its hold is over. Shown: S1, the third one holds for as long as
// the first one's writes may take.
func TestHoldOutlastsAKillDuringTheHold(t *testing.T) {
	t.Parallel()
	p := startedOnce(t)
	p.serves("--settle", "20s").Kill()
	for range 2 {
		second := p.serves()
		second.holdsFor(10, 20)
		second.Kill()
	}
	third := p.serves("--settle", "1s")
	third.holdsFor(10, 20)
	third.stops(0) // in the hold: not clean either
	p.serves().holdsFor(10, 20)
}

// After a clean stop neither the longer nor the shorter settle time holds.
func TestCleanStopNeedsNoHold(t *testing.T) {
	t.Parallel()
	p := startedOnce(t)
	for _, settle := range []string{"20s", "20s", "0s", "20s"} {
		r := p.serves("--settle", settle)
		r.holdsNothing()
		r.stops(0)
	}
}
