package lockclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"fencegate/fence"
)

// Transport returns a RoundTripper that lets requests act for this lock; base
// nil means http.DefaultTransport. On the fence's origin
//
//   - requests to a locked resource (and below it if the lock covers a tree)
//     carry the lock's token, owner and client, reads too;
//   - all other writes, and a MOVE or COPY with an end outside, are refused with
//     a *ScopeError and nothing is sent; other reads pass as they are;
//   - a lease that is over refuses with *LostError or ErrReleased. It is looked
//     at before sending, and again until the request's headers are written. From
//     then on a request is left alone: cutting a write does not undo it, and the
//     fence decides by the token.
//
// Requests to other origins pass untouched, so that a redirect carries no owner
// away. A write in scope that is redirected there ends with a *ScopeError: the
// store has not done it, and there nothing would fence it. Answers of the fence become errors, with the body closed: *FencedError,
// which also ends the lease unless it is tree_fenced; *OutcomeUnknownError, also for a write that was
// sent and got no answer at all, and instead of a *FencedError where an earlier
// try of the same write went unanswered and may still have been applied. An
// upstream's own 412 or 409 is a response like any other.
//
// Bound requests by a context rather than by http.Client.Timeout, which turns
// every error into its own text and so hides these types.
//
// A request's body is not sent twice: GetBody is not passed on. A base that
// does not support httptrace cannot tell whether it sent a request, so that all
// its errors on writes are *OutcomeUnknownError.
func (l *Lock) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{lock: l, base: base}
}

type transport struct {
	lock *Lock
	base http.RoundTripper
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	l := t.lock
	if l.set.fence == nil {
		return nil, refuse(req, errors.New("lockclient: Transport needs WithFence"))
	}
	if originOf(req.URL) != *l.set.fence {
		return t.base.RoundTrip(req)
	}
	resource, why := l.scope(req)
	if why != "" {
		if isRead(req.Method) {
			return t.base.RoundTrip(req)
		}
		return nil, refuse(req, &ScopeError{Method: req.Method, URL: bareURL(req.URL), Lock: l.Resource(), Why: why})
	}
	if err := l.check(); err != nil {
		return nil, refuse(req, err)
	}
	if err := context.Cause(req.Context()); err != nil {
		return nil, refuse(req, err)
	}
	return t.send(req, resource)
}

// refuse closes the body, which RoundTrip owes on every way out.
func refuse(req *http.Request, err error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return err
}

// send sends a request that is in scope, with the lock's stamp.
func (t *transport) send(req *http.Request, resource fence.Resource) (*http.Response, error) {
	l, stamp := t.lock, t.lock.Stamp()
	ctx, cancel := context.WithCancelCause(req.Context())
	held := l.Context()
	stop := context.AfterFunc(held, func() { cancel(context.Cause(held)) })
	var traced atomic.Bool // base tells what it does, as http.Transport does
	var sent atomic.Int32  // how often the headers were written
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { traced.Store(true) },
		GotConn: func(httptrace.GotConnInfo) {
			if err := l.check(); err != nil {
				cancel(err)
			}
		},
		WroteHeaders: func() { stop(); sent.Add(1) },
	})
	out := req.Clone(ctx)
	out.GetBody = nil
	if out.Header == nil {
		out.Header = make(http.Header)
	}
	out.Header.Set(headerToken, stamp.Token.String())
	out.Header.Set(headerOwner, string(stamp.Owner))
	out.Header.Set(headerClient, stamp.Client)

	write := !isRead(req.Method)
	attempt := req.Method + " " + resource.Key()
	resp, err := t.base.RoundTrip(out)
	stop()
	if err != nil {
		defer cancel(nil)
		switch {
		case traced.Load() && sent.Load() == 0:
			if cause := context.Cause(ctx); errors.Is(cause, ErrLost) || errors.Is(cause, ErrReleased) {
				return nil, cause
			}
			return nil, err
		case write:
			l.noteUnanswered(attempt)
			return nil, &OutcomeUnknownError{Resource: resource, Token: stamp.Token, Err: err}
		}
		return nil, err
	}
	err = t.judge(resp, resource, stamp.Token, attempt, write, sent.Load() > 1)
	if err == nil && write {
		err = l.leaves(req, resp)
	}
	if err != nil {
		_ = resp.Body.Close()
		cancel(nil)
		return nil, err
	}
	resp.Request = req
	resp.Body = &answerBody{resp.Body, cancel}
	return resp, nil
}
