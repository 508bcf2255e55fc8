package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"fencegate/fence"
	"fencegate/proxy/protocol"
	"fencegate/proxy/protocol/dav"
)

// Options of a proxy. Zero values are replaced by the defaults named.
type Options struct {
	// Routes are tried in order. Paths that none of them matches fall to Rest.
	Routes []Route
	// Rest protects all other paths. Its name defaults to "default", its
	// policy is as given (the zero Policy is Open); its Path is not used.
	Rest Route
	// MaxToken is the highest accepted token. Default fence.DefaultMaxToken.
	MaxToken fence.Token
	// TokenKind says what tokens are. With fence.TimeTokens those that are
	// ahead of the clock are refused. Default: any.
	TokenKind fence.TokenKind
	// Now tells the time that tokens are compared with. Default: time.Now.
	Now func() time.Time
	// LedgerID is told in answers to claims.
	LedgerID string
	// Settle is told to clients whose write had no definite answer.
	Settle time.Duration
	// UpstreamTimeout limits one write at the store. Default 5 min.
	UpstreamTimeout time.Duration
	// Names leads from the names that clients use for objects to the store's. The
	// zero Map: they are the same.
	Names dav.Map
	// HostKept: the store is sent the client's Host, so that is its origin.
	HostKept bool
	// HeadTimeout limits how long the head of a request may take. Default 10 s.
	HeadTimeout time.Duration
	// Body limits how bodies may arrive.
	Body BodyLimits
	// SpoolDir takes in bodies that do not fit into memory, for stores without
	// staging of their own. Required for those.
	SpoolDir string
	// Log receives one record per refusal. Default: none.
	Log *slog.Logger
	// Metrics, required.
	Metrics *Metrics
}

// Proxy is the data listener's handler. It may be used from many goroutines.
type Proxy struct {
	gate     *fence.Gate
	protocol protocol.Protocol
	upstream Upstream
	routes   routes
	opts     Options
	limits   BodyLimits
	budget   budget
	spool    *spool
	metrics  *Metrics
	refusals *refusals
}

// New returns a proxy that lets through to upstream what passes the gate.
func New(gate *fence.Gate, proto protocol.Protocol, upstream Upstream, opts Options) (*Proxy, error) {
	if opts.MaxToken == 0 {
		opts.MaxToken = fence.DefaultMaxToken
	}
	if opts.UpstreamTimeout == 0 {
		opts.UpstreamTimeout = 5 * time.Minute
	}
	if opts.HeadTimeout == 0 {
		opts.HeadTimeout = 10 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{
		gate: gate, protocol: proto, upstream: upstream, opts: opts,
		limits: opts.Body.withDefaults(), metrics: opts.Metrics, refusals: newRefusals(opts.Log),
	}
	p.budget.quota = p.limits.Quota
	var err error
	if p.routes, err = compile(opts.Routes, opts.Rest); err != nil {
		return nil, err
	}
	if err = p.checkStreams(); err != nil {
		return nil, err
	}
	if opts.SpoolDir != "" {
		if p.spool, err = openSpool(opts.SpoolDir); err != nil {
			return nil, err
		}
	}
	p.metrics.watch(p)
	return p, nil
}

// Close tells what the log still has to say. No request may be in progress.
func (p *Proxy) Close() { p.refusals.close() }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := p.newExchange(w, r)
	q := &x.request
	ref := p.understand(q, r)
	defer p.finish(x, q)
	if ref == nil {
		ref = p.handle(x, q)
	}
	if ref == nil {
		return
	}
	ref.about(q)
	p.noteRefusal(x, q, ref)
	if ref.Reason == fence.ClientGone {
		panic(http.ErrAbortHandler) // nobody is left to answer
	}
	x.refuse(ref)
}

// handle is the way of a request, step by step. It answers by itself when the
// request was passed on, and else returns the refusal to answer with.
func (p *Proxy) handle(x *exchange, q *request) *Refusal {
	if q.own {
		return p.serveOwn(x, q)
	}
	if q.intent.Kind == protocol.Read {
		return p.read(x, q)
	}
	streams := q.streams(x.r)
	if ref := p.checkDeclared(x.r, !streams); ref != nil {
		return ref
	}
	permit, v := p.gate.Arrive(x.untilGone(), fence.Request{
		Touches: q.touches, Ask: q.intent.Kind == protocol.Ask, Stream: streams,
	})
	if !v.OK() {
		return verdictRefusal(v, q.touches)
	}
	defer permit.Withdraw()
	p.noteObserved(x, q, permit, q.touches)

	if q.intent.Kind == protocol.Ask {
		if v := p.begin(x, permit); !v.OK() {
			return verdictRefusal(v, q.touches)
		}
		return p.read(x, q)
	}
	if streams {
		return p.stream(x, q, permit)
	}

	body := p.takeIn(x)
	if !body.here {
		x.shared = true
		permit.OnOvertaken(body.stop)
	}
	defer body.release()
	err := p.stage(x, q, body)
	body.giveBack() // however much of it the store has read
	if errors.Is(err, errOvertaken) {
		return verdictRefusal(p.begin(x, permit), q.touches)
	}
	if err != nil {
		return p.stagingFailed(x, err)
	}
	defer x.staged.drop()
	if v := p.begin(x, permit); !v.OK() {
		return verdictRefusal(v, q.touches)
	}
	ctx := &x.attempt
	ctx.start(x.lap, p.opts.UpstreamTimeout)
	defer ctx.free()
	res, outcome, err := p.send(ctx, x, permit, &x.staged)
	return p.deliver(x, res, outcome, err)
}

// begin waits for the request's turn. A client that leaves before it is
// withdrawn, its body read or not. One that only closes its sending side, which
// TCP allows, is not told from one that has left.
func (p *Proxy) begin(x *exchange, permit *fence.Permit) fence.Verdict {
	start := time.Now()
	v := permit.Begin(x.r.Context())
	p.metrics.gateWait.Observe(x.since(start).Seconds())
	return v
}

// read passes on a request that changes nothing.
func (p *Proxy) read(x *exchange, q *request) *Refusal {
	body := p.takeIn(x)
	defer body.release()
	out := p.outgoing(x, q)
	out.Body = io.NopCloser(body)
	w := &storeWriter{ResponseWriter: x.w, x: x, p: p}
	outcome, err := p.storeOf(q).Read(w, out)
	if err == nil {
		err = w.end()
	}
	var failed bodyError
	var own storeAnswer
	switch {
	case err == nil:
		if !w.wrote {
			w.WriteHeader(http.StatusOK)
		}
		x.rest()
		return nil
	case w.wrote:
		panic(http.ErrAbortHandler) // the answer broke off; the client must notice
	case errors.As(err, &failed):
		return failed.Refusal
	case errors.As(err, &own):
		p.pass(x, own.Response())
		return nil
	case x.r.Context().Err() != nil:
		return &Refusal{Reason: fence.ClientGone, Err: err}
	case outcome == fence.NotSent:
		return unreachable(err)
	}
	return &Refusal{Reason: reasonTimeout, Err: err,
		Detail: "The store was asked but did not answer. Reading again is safe."}
}

// staged is a write that is ready to go upstream: what the store has staged
// itself, or what is in the spool.
type staged struct {
	store  Upstream
	out    *http.Request
	kept   spooled
	commit func(context.Context) (*http.Response, fence.Outcome, error) // nil: kept has the body
	abort  func()                                                       // nil: nothing is left to abort
}

// send implements sender.
func (s *staged) send(ctx context.Context) (*http.Response, fence.Outcome, error) {
	if s.commit != nil {
		s.abort = nil
		return s.commit(ctx)
	}
	return s.store.Write(ctx, s.out, s.kept.reader(), s.kept.size)
}

// drop frees what send has not used up.
func (s *staged) drop() {
	if s.abort != nil {
		s.abort()
	}
	s.kept.drop()
}

// stage takes in the request's body.
func (p *Proxy) stage(x *exchange, q *request, body *intake) (err error) {
	s := &x.staged
	s.store, s.out = p.storeOf(q), p.outgoing(x, q)
	if stager, ok := s.store.(Stager); ok && q.intent.Stores {
		s.commit, s.abort, err = stager.Prepare(x.r.Context(), s.out, body)
		return err
	}
	return p.spool.take(&s.kept, body, x.r.ContentLength)
}

// stagingFailed answers a request whose body could not be taken in. Nothing was
// sent.
func (p *Proxy) stagingFailed(x *exchange, err error) *Refusal {
	var failed bodyError
	var own storeAnswer
	switch {
	case errors.As(err, &failed):
		return failed.Refusal
	case errors.As(err, &own):
		p.pass(x, own.Response())
		return nil
	case x.r.Context().Err() != nil:
		return &Refusal{Reason: fence.ClientGone, Err: err}
	}
	return unreachable(err)
}

func unreachable(err error) *Refusal {
	return &Refusal{Reason: reasonUnreachable, Err: err,
		Detail: "The request could not be handed to the store, so it surely has no effect. Sending it once more is safe."}
}

// sender makes the attempt at a write.
type sender interface {
	send(context.Context) (*http.Response, fence.Outcome, error)
}

// send makes the one attempt at a write that has begun. ctx does not end with
// the client's. Whatever happens in it, the gate learns an outcome.
func (p *Proxy) send(ctx context.Context, x *exchange, permit *fence.Permit, s sender) (res *http.Response, outcome fence.Outcome, err error) {
	outcome = fence.Uncertain
	start := x.lap // when it began
	defer func() {
		p.metrics.outcomes[outcome].Observe(x.since(start).Seconds())
		if outcome == fence.Uncertain {
			p.metrics.uncertain.Inc()
			x.decision = decisionUnknown
		}
		permit.Done(outcome)
	}()
	return s.send(ctx)
}

// deliver answers with what became of a write.
func (p *Proxy) deliver(x *exchange, res *http.Response, outcome fence.Outcome, err error) *Refusal {
	if res != nil {
		if outcome == fence.Definite || res.StatusCode != http.StatusBadGateway && res.StatusCode != http.StatusGatewayTimeout {
			p.pass(x, res)
			return nil
		}
		res.Body.Close()
	}
	if outcome == fence.NotSent {
		return unreachable(err)
	}
	return p.unknown("The write was handed to the store but it gave no definite answer", err)
}

// unknown answers a write that the store has, or has a part of; why says what
// keeps its outcome from being known.
func (p *Proxy) unknown(why string, err error) *Refusal {
	ref := &Refusal{Reason: reasonUnknown, RetryAfter: p.opts.Settle, Err: err,
		Detail: why + ": it may have taken effect, or still take effect. Look at the object after Retry-After before writing again."}
	if ref.RetryAfter == 0 {
		ref.Detail = why + ": it may have taken effect. Look at the object before writing again."
	}
	return ref
}
