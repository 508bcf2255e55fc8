package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"fencegate/fence"
)

// BodyLimits bound how request bodies may arrive; Idle and MinRate also how
// answers to reads must be taken. Zero values are replaced by the defaults named.
type BodyLimits struct {
	// Max is the largest body in bytes. Default: no limit.
	Max int64
	// Quota limits the bytes that all bodies being taken in, or waiting for
	// their turn, may have together. Default 10 GiB.
	Quota int64
	// Idle is how long nothing may arrive. Default 30 s.
	Idle time.Duration
	// Total is how long one body may take. Default 24 h.
	Total time.Duration
	// MinRate is the least average rate in bytes per second, from the end of
	// the first Idle on. Default 1 KiB/s.
	MinRate int64
}

func (l BodyLimits) withDefaults() BodyLimits {
	if l.Quota == 0 {
		l.Quota = 10 << 30
	}
	if l.Idle == 0 {
		l.Idle = 30 * time.Second
	}
	if l.Total == 0 {
		l.Total = 24 * time.Hour
	}
	if l.MinRate == 0 {
		l.MinRate = 1 << 10
	}
	return l
}

// piece is how much has to move within Idle.
func (l *BodyLimits) piece() int64 {
	return max(1, int64(float64(l.MinRate)*l.Idle.Seconds()))
}

// budget counts the received bytes that are still kept.
type budget struct {
	quota int64
	used  atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.quota {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// bodyError says why a body could not be taken in.
type bodyError struct{ *Refusal }

func (e bodyError) Error() string { return e.Detail }

// errOvertaken ends the intake of a body whose request can no longer pass.
var errOvertaken = errors.New("a newer token has arrived")

// intake reads one request's body under the limits. It is used by one goroutine;
// only stop may be called from others.
type intake struct {
	x        *exchange
	limits   *BodyLimits
	budget   *budget // nil: nothing of it is kept
	since    time.Time
	waited   time.Duration // for the client
	got      int64
	here     bool // all of it has come
	started  bool // the client was told to send
	complete bool // read to its end
	err      error

	mu      sync.Mutex
	ended   bool // the read deadline is no longer ours
	stopped bool // before that
}

// checkDeclared refuses bodies whose declared length cannot fit, before
// anything is raised or read. kept: they stay here until they have arrived.
func (p *Proxy) checkDeclared(r *http.Request, kept bool) *Refusal {
	n := r.ContentLength
	switch {
	case p.limits.Max > 0 && n > p.limits.Max:
		return tooLarge(p.limits.Max)
	case kept && n > p.limits.Quota-p.budget.used.Load():
		return spoolFull()
	}
	return nil
}

func tooLarge(limit int64) *Refusal {
	return &Refusal{Reason: reasonBodyLarge, Detail: "The body is larger than the limit of " + bytesText(limit) + " (max_body). Nothing was sent to the store."}
}

func spoolFull() *Refusal {
	return &Refusal{Reason: reasonSpoolFull, Detail: "There is no room to take in the body (spool_quota or disk). Nothing was sent to the store; try again later."}
}

// takeIn starts the intake of a body. release gives its bytes back to the budget
// and must be called.
func (p *Proxy) takeIn(x *exchange) *intake {
	in := &x.intake
	in.x, in.limits, in.budget = x, &p.limits, &p.budget
	x.took = in
	switch b := x.r.Body.(type) {
	case nil:
		in.complete, in.ended, in.here, in.err = true, true, true, io.EOF
	case buffered:
		in.here = !x.expects && x.r.ContentLength == b.Buffered()
	default:
		if b == http.NoBody {
			in.complete, in.ended, in.here, in.err = true, true, true, io.EOF
		}
	}
	if !in.here {
		in.since = time.Now()
	}
	return in
}

// buffered is a body that knows how much of it can be read without waiting.
type buffered interface{ Buffered() int64 }

// Read implements io.Reader. After an error it returns the same error.
func (in *intake) Read(b []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	if !in.started {
		in.started = true
		if in.x.expects {
			in.x.hurry() // to take "100 Continue", which is written at the first Read
		}
	}
	var n int
	var err error
	if !in.here { // else there is nothing to wait for
		err = in.extend()
	}
	if err == nil {
		n, err = in.receive(b)
	}
	if err != nil {
		in.err = err
		in.giveBack()
	}
	return n, err
}

func (in *intake) receive(b []byte) (int, error) {
	var start time.Time
	if !in.here {
		start = time.Now()
	}
	n, err := in.x.r.Body.Read(b)
	if !in.here {
		in.waited += time.Since(start)
	}
	if in.budget != nil && !in.budget.take(int64(n)) {
		return 0, bodyError{spoolFull()}
	}
	in.got += int64(n)
	switch {
	case in.limits.Max > 0 && in.got > in.limits.Max:
		err = bodyError{tooLarge(in.limits.Max)}
	case err == io.EOF:
		err = in.end()
	case err != nil:
		err = in.explain(err)
	case in.tooSlow():
		err = bodyError{timedOut()}
	}
	return n, err
}

// extend gives the client Idle to send more, unless the intake was stopped.
func (in *intake) extend() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return errOvertaken
	}
	end := time.Now().Add(in.limits.Idle)
	if total := in.since.Add(in.limits.Total); total.Before(end) {
		end = total
	}
	if err := in.x.rc.SetReadDeadline(end); err != nil {
		return bodyError{&Refusal{Reason: fence.ClientGone, Err: err}}
	}
	return nil
}

// stop ends the intake, with a Read in progress, because its request can no
// longer pass. It does nothing once the intake has ended.
func (in *intake) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.ended {
		in.stopped = true
		_ = in.x.rc.SetReadDeadline(time.Unix(1, 0))
		_ = in.x.rc.SetWriteDeadline(time.Unix(1, 0)) // of "100 Continue"; an answer sets its own
	}
}

// giveBack ends the intake: from here on the connection's deadline is the
// server's again, and through it the next request's.
func (in *intake) giveBack() {
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
}

// release ends the intake and gives its bytes back.
func (in *intake) release() {
	in.giveBack()
	if in.budget != nil {
		in.budget.give(in.got)
		in.got = 0
	}
}

// end checks a body that has arrived whole.
func (in *intake) end() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return errOvertaken // at the last moment
	}
	in.ended, in.complete = true, true
	_ = in.x.rc.SetReadDeadline(time.Time{})
	if ref := checkTrailer(in.x.r.Trailer); ref != nil {
		return bodyError{ref}
	}
	return io.EOF
}

// tooSlow counts the time in which the client was waited for: what disk or store
// take is not its fault.
func (in *intake) tooSlow() bool {
	return in.waited > in.limits.Idle && float64(in.got) < float64(in.limits.MinRate)*in.waited.Seconds()
}

func timedOut() *Refusal {
	return &Refusal{Reason: reasonBodyTimeout, Detail: "The body arrived too slowly or not at all. Nothing was sent to the store."}
}

// explain says what an error of reading the body means.
func (in *intake) explain(err error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.stopped:
		return errOvertaken
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bodyError{timedOut()}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bodyError{&Refusal{Reason: reasonMalformed, Err: err,
			Detail: "The body ended before its declared end. Nothing was sent to the store."}}
	case in.x.r.Context().Err() != nil:
		return bodyError{&Refusal{Reason: fence.ClientGone, Err: err}}
	}
	return bodyError{&Refusal{Reason: reasonMalformed, Err: err, Detail: "The body could not be read: " + err.Error() + "."}}
}
