package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fencegate/fence"
)

// errUntaken ends a streamed write in which the store stands still.
var errUntaken = errors.New("the store neither took more of the body nor answered in time")

// checkStreams refuses routes that stream to a store that cannot.
func (p *Proxy) checkStreams() error {
	for _, route := range p.routes {
		if _, ok := p.storeOf(&request{route: route}).(Streamer); route.Stream && !ok {
			return fmt.Errorf("route %s: bodies cannot be streamed to this store, which stages them itself", route.Name)
		}
	}
	return nil
}

// streams reports whether the request's body is passed on while it arrives.
// Without one there is nothing to wait for.
func (q *request) streams(r *http.Request) bool {
	return q.route.Stream && q.intent.Stores && r.ContentLength != 0
}

// stream begins a write before its body has arrived, and passes the body on as
// it comes. A newer token, a body that breaks off and a store that stands still
// cut it off; the store has a part of it then, or all, so that nobody knows
// whether it takes effect.
func (p *Proxy) stream(x *exchange, q *request, permit *fence.Permit) *Refusal {
	if v := p.begin(x, permit); !v.OK() {
		return verdictRefusal(v, q.touches)
	}
	ctx, cut := context.WithCancelCause(context.WithoutCancel(x.r.Context()))
	defer cut(nil)
	permit.OnOvertaken(func() { cut(errOvertaken) })
	body := p.relay(ctx, x, cut)
	defer body.release()
	defer body.Close()
	out := p.outgoing(x, q).WithContext(ctx)
	res, outcome, err := p.send(ctx, x, permit, &streamed{p.storeOf(q).(Streamer), out, body})
	cause := context.Cause(ctx)
	body.Close()
	body.giveBack()
	ref := p.deliver(x, res, outcome, err)
	if ref == nil {
		return nil
	}
	var failed bodyError
	switch {
	case cause == errOvertaken:
		return p.unknown("A newer token arrived and cut this upload off on its way to the store", err)
	case errors.As(body.err, &failed) && outcome == fence.NotSent:
		return failed.Refusal
	case errors.As(body.err, &failed):
		return p.unknown("The body did not reach the store whole ("+brokeOff(failed.Refusal)+")", err)
	case cause == errUntaken:
		return p.unknown("The store neither took more of the body nor answered within "+p.opts.UpstreamTimeout.String()+" (upstream_timeout)", err)
	}
	return ref
}

// streamed is a write whose body is on its way.
type streamed struct {
	store Streamer
	out   *http.Request
	body  io.ReadCloser
}

// send implements sender.
func (s *streamed) send(ctx context.Context) (*http.Response, fence.Outcome, error) {
	return s.store.Stream(ctx, s.out, s.body, s.out.ContentLength)
}

// brokeOff says what was wrong with a body of which a part has been passed on.
func brokeOff(ref *Refusal) string {
	switch ref.Reason {
	case fence.ClientGone:
		return "the client left"
	case reasonBodyTimeout:
		return "it arrived too slowly or stopped"
	case reasonBodyLarge:
		return "it is larger than max_body"
	case reasonTokenMalformed, reasonOwnerMalformed:
		return "its trailer has fencing headers, which belong before it"
	}
	return "it ended early or is malformed"
}

// relay is a body on its way from the client to the store. While the client is
// waited for the limits on bodies apply, and while the store is, a timer that
// each piece starts anew.
type relay struct {
	*intake
	idle     *time.Timer // ends the attempt when the store stands still
	patience time.Duration
	reading  sync.Mutex // held during Read
	closed   atomic.Bool
	unbind   func() bool // from the context
}

// relay starts the way of a body whose request has begun. It ends with ctx; cut
// ends ctx.
func (p *Proxy) relay(ctx context.Context, x *exchange, cut context.CancelCauseFunc) *relay {
	x.shared = true
	r := &relay{intake: p.takeIn(x), patience: p.opts.UpstreamTimeout}
	r.unbind = context.AfterFunc(ctx, r.intake.stop)
	r.budget = nil
	r.idle = time.AfterFunc(r.patience, func() { cut(errUntaken) })
	return r
}

// Read implements io.Reader.
func (r *relay) Read(b []byte) (int, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if r.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	r.idle.Stop()
	defer r.idle.Reset(r.patience)
	return r.intake.Read(b)
}

// Close implements io.Closer: it ends a Read in progress, and lets none begin.
func (r *relay) Close() error {
	r.closed.Store(true)
	if !r.reading.TryLock() {
		r.stop()
		r.reading.Lock()
	}
	defer r.reading.Unlock()
	r.idle.Stop()
	r.unbind()
	return nil
}
