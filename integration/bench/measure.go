package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"
)

// measured is one run of one case.
type measured struct {
	Rate   float64 `json:"requests_per_second"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	CPU    float64 `json:"cpu_us_per_request"`     // of the server's processes
	AllCPU float64 `json:"all_cpu_us_per_request"` // with that of sink and wrk
	Others float64 `json:"others_percent"`         // of all cores
	// Figure is what counts in a case without a rate: MiB, or allocations of one.
	Figure  float64 `json:"figure,omitempty"`
	Repeats int     `json:"repeats,omitempty"` // of busier runs, that were not kept
}

// counts is what is known of answers beside what wrk says.
type counts struct {
	sink    stock
	metrics metrics // of a fencegate
	files   int64   // of a store of files: how many are written and whole
}

func (b *bench) count(ctx context.Context, s *server, quiet time.Duration) (c counts, err error) {
	if c.sink, err = quietSink(ctx, b.sinkOf(s).addr, quiet); err != nil {
		return c, err
	}
	if s.admin != "" {
		c.metrics, err = askMetrics(ctx, s)
	}
	return c, err
}

// quiet is how long nothing must be stored until nothing will be any more.
func (c scene) quiet() time.Duration {
	if c.tokens.rising { // a commit may come between, which has several fsyncs
		return 200*time.Millisecond + 10*c.slow
	}
	return 20 * time.Millisecond
}

// wrongError tells of answers that are not what they should be.
type wrongError struct{ error }

// measure runs one case once. A wrongError makes the case invalid.
func (b *bench) measure(ctx context.Context, c scene, l load) (*measured, error) {
	s := b.servers[c.server]
	switch {
	case c.callers > 0:
		return b.measureRaises(ctx, c, s, l.duration)
	case c.passes > 0:
		return measurePasses(ctx, c, s)
	case c.idle > 0:
		return measureIdle(ctx, c, s, l)
	case c.raises > 0:
		return measureMarks(ctx, c, s, l)
	}
	return b.measureLoad(ctx, c, s, l)
}

func (b *bench) measureLoad(ctx context.Context, c scene, s *server, l load) (m *measured, err error) {
	if c.stalled {
		clients, err := stall(ctx, s, l.conns/2)
		if err != nil {
			return nil, wrongError{err}
		}
		defer func() {
			if failed := clients.finish(); failed != nil && err == nil {
				m, err = nil, wrongError{failed}
			}
		}()
	}
	if err := c.probe(ctx, s, l); err != nil {
		return nil, wrongError{err}
	}
	before, err := b.count(ctx, s, c.quiet())
	if err != nil {
		return nil, err
	}
	stop, err := b.watch(s)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	tally, wrkCPU, err := b.put(ctx, c, l, s.addr)
	if err != nil {
		return nil, err
	}
	used, err := stop()
	if err != nil {
		return nil, err
	}
	after, err := b.count(ctx, s, c.quiet())
	if err != nil {
		return nil, err
	}
	if c.files {
		if after.files, err = writtenSince(s.files(), l, begun); err != nil {
			return nil, err
		}
	}
	if err := c.check(l, tally, before, after); err != nil {
		return nil, wrongError{err}
	}
	if err := c.probe(ctx, s, l); err != nil {
		return nil, wrongError{err}
	}
	return used.measured(tally, wrkCPU), nil
}

// measureRaises has marks raised by a role of this program, which is load and
// server in one.
func (b *bench) measureRaises(ctx context.Context, c scene, s *server, duration time.Duration) (*measured, error) {
	stop, err := b.watch(s)
	if err != nil {
		return nil, err
	}
	tally, err := tellToRaise(ctx, s.addr, raising{c.callers, c.marks, duration})
	if err != nil {
		return nil, err
	}
	used, err := stop()
	if err != nil {
		return nil, err
	}
	return used.measured(tally, 0), nil
}

// put puts the load on the server at addr. It returns also wrk's own CPU time.
func (b *bench) put(ctx context.Context, c scene, l load, addr string) (t tally, wrkCPU time.Duration, err error) {
	if c.bare {
		t, err = askBare(ctx, l, addr)
		return t, 0, err
	}
	return b.wrk.run(ctx, l, addr, c.carries())
}

// usage is CPU time over a while.
type usage struct {
	took    time.Duration // wall clock
	server  time.Duration
	known   time.Duration // server and store
	machine time.Duration // all processes; not the kernel's own threads
}

// measured sums up a run. loadCPU is the CPU time of what was its load.
func (u usage) measured(t tally, loadCPU time.Duration) *measured {
	perRequest := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(t.Requests) }
	return &measured{
		Rate: t.perSecond(), P50: float64(t.P50), P99: float64(t.P99),
		CPU: perRequest(u.server), AllCPU: perRequest(u.known + loadCPU),
		Others: 100 * max(0, float64(u.machine-u.known-loadCPU)/float64(u.took)/float64(runtime.NumCPU())),
	}
}

// watch begins to count CPU time; stop ends it.
func (b *bench) watch(s *server) (stop func() (usage, error), err error) {
	read := func() (u usage, err error) {
		var errs [3]error
		u.server, errs[0] = s.cpu()
		u.known = u.server
		store := s.store
		if store == nil {
			store = b.servers[sinkServer]
		}
		if s != store {
			behind, err := store.cpu()
			u.known, errs[1] = u.known+behind, err
		}
		u.machine, errs[2] = machineTime()
		return u, errors.Join(errs[:]...)
	}
	begin := time.Now()
	from, err := read()
	if err != nil {
		return nil, err
	}
	return func() (usage, error) {
		to, err := read()
		return usage{time.Since(begin), to.server - from.server, to.known - from.known, to.machine - from.machine}, err
	}, nil
}

// probe makes one request of a case's kind whose answer is looked at as a whole.
// It comes before and after the load.
func (c scene) probe(ctx context.Context, s *server, l load) error {
	token := int64(token)
	path := l.pathOf(0, 0)
	switch {
	case c.bare: // takes no requests, and tells of errors itself
		return nil
	case c.reads:
		status, body, err := get(ctx, "http://"+s.addr+path)
		if err == nil && (status != http.StatusOK || len(body) != l.size) {
			err = fmt.Errorf("a read is answered %d with %d bytes, want 200 and %d", status, len(body), l.size)
		}
		return err
	case c.tokens.rising:
		token, path = time.Now().UnixMicro(), l.prefix()+"/probe"
	case c.refused:
		token = c.tokens.token
	}
	status, reason, err := put(ctx, s.addr, path, l.size, token)
	switch {
	case err != nil:
		return err
	case c.refused && (status != http.StatusPreconditionFailed || reason != "stale_token"):
		return fmt.Errorf("a late write is answered %d %q, want 412 stale_token", status, reason)
	case !c.refused && status != http.StatusNoContent && status != http.StatusCreated:
		return fmt.Errorf("a write is answered %d %q, want 201 or 204", status, reason)
	}
	return nil
}

// late shows that a server that is to refuse late writes does so: a fence that
// lets everything pass would be fast.
func (b *bench) late(ctx context.Context, c scene, l load) error {
	s := b.servers[c.server]
	if !s.fenced {
		return nil
	}
	sink := b.sinkOf(s).addr
	before, err := askSink(ctx, sink)
	if err != nil {
		return err
	}
	status, reason, err := put(ctx, s.addr, l.pathOf(0, 0), l.size, c.seed-1)
	if err != nil {
		return err
	}
	after, err := askSink(ctx, sink)
	switch {
	case err != nil:
		return err
	case status != http.StatusPreconditionFailed:
		return fmt.Errorf("a late write is answered %d %q, want 412", status, reason)
	case before != after:
		return errors.New("a late write is answered 412, and stored all the same")
	}
	return nil
}

// check compares what wrk has seen with what sink and fencegate have counted. wrk
// leaves without the last answer of each connection, so there may be that many
// more than it has seen.
func (c scene) check(l load, t tally, before, after counts) error {
	if n := t.socketFaults(); n > 0 {
		return fmt.Errorf("%d requests without an answer: %+v", n, t)
	}
	between := func(what string, got, least int64) error {
		if got < least || got > least+int64(l.conns) {
			return fmt.Errorf("%s: %d, want %d, or up to %d more", what, got, least, l.conns)
		}
		return nil
	}
	wantRefused, wantPassed := int64(0), t.Requests
	if c.refused {
		wantRefused, wantPassed = t.Requests, 0
	}
	errs := []error{}
	if c.slow > 0 && t.P50 < c.slow.Microseconds() {
		errs = append(errs, fmt.Errorf("half of the answers took %d µs or less, on a disk that is to take %v", t.P50, c.slow))
	}
	if t.Status != wantRefused {
		errs = append(errs, fmt.Errorf("answers of 400 and above: %d of %d, want %d", t.Status, t.Requests, wantRefused))
	}
	writes, bytes := after.sink.writes-before.sink.writes, after.sink.bytes-before.sink.bytes
	switch {
	case c.reads:
		// A head has far less than 1 KiB.
		least, most := t.Requests*int64(l.size), (t.Requests+int64(l.conns))*int64(l.size+1<<10)
		if t.Bytes < least || t.Bytes > most {
			errs = append(errs, fmt.Errorf("%d bytes have been read, want %d to %d", t.Bytes, least, most))
		}
		if writes != 0 || after.files != 0 {
			errs = append(errs, fmt.Errorf("reads have stored %d times, and written %d files", writes, after.files))
		}
	case c.files:
		// Each thread goes through paths of its own in turn.
		if least := min(t.Requests, int64(l.paths/l.threads)); after.files < least {
			errs = append(errs, fmt.Errorf("%d files are written and whole after %d writes, want %d or more", after.files, t.Requests, least))
		}
		fallthrough
	case c.refused:
		if writes != 0 {
			errs = append(errs, fmt.Errorf("the sink has stored %d writes, want none", writes))
		}
	default:
		errs = append(errs, between("writes that the sink has stored", writes, wantPassed))
		if bytes != writes*int64(l.size) {
			errs = append(errs, fmt.Errorf("the sink has stored %d bytes by %d writes, want %d each", bytes, writes, l.size))
		}
	}
	if after.metrics != nil {
		rise := func(parts ...string) int64 { return int64(after.metrics.sum(parts...) - before.metrics.sum(parts...)) }
		stale, all := rise("rejections_total", `reason="stale_token"`), rise("rejections_total")
		if c.cut { // the last write of each connection: refused if staged, in doubt if streamed
			cut := rise("rejections_total", `reason="request_malformed"`) + rise("rejections_total", `reason="outcome_unknown"`)
			all -= min(cut, int64(l.conns))
		}
		if all != stale {
			errs = append(errs, fmt.Errorf("fencegate has refused %d requests for another reason than stale_token", all-stale))
		}
		if c.refused {
			errs = append(errs, between("refusals that fencegate has counted", stale, wantRefused))
		} else if stale != 0 {
			errs = append(errs, fmt.Errorf("fencegate has refused %d requests as stale, want none", stale))
		}
		if c.reads {
			operation := `operation="ask"` // a read with a token is checked
			if c.tokens.none {
				operation = `operation="read"`
			}
			errs = append(errs, between("reads that fencegate has passed", rise("requests_total", operation, `decision="passed"`), wantPassed))
		} else if !c.refused {
			errs = append(errs, between("writes that fencegate has passed", rise("requests_total", `operation="write"`, `decision="passed"`), wantPassed))
		}
	}
	return errors.Join(errs...)
}
