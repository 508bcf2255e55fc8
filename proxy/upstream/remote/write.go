package remote

import (
	"context"
	"errors"
	"io"
	"net/http"

	"fencegate/fence"
)

// Write makes one attempt at a write. Of r it takes Method, RequestURI, Header
// and, with HostKeep, Host; r's context and body are not used. Exactly size
// bytes of body are sent; a body that fails or ends before is cut off, never
// completed. Reading body must not block for long: nothing can interrupt it. What
// it holds must not change before Write returns: it may be sent from where it is.
//
// A response comes with its body in memory, also for NotSent and Uncertain if
// the store answered. Without one the error says why; if ctx ended, it wraps
// ctx's cause. When Write returns nothing is being sent any more.
func (u *Remote) Write(ctx context.Context, r *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error) {
	if size < 0 {
		return nil, fence.NotSent, errors.New("the body to send has no size")
	}
	m, err := u.message(r, body, size)
	if err != nil {
		return nil, fence.NotSent, err
	}
	return u.write(ctx, m)
}

func (u *Remote) write(ctx context.Context, m *message) (*http.Response, fence.Outcome, error) {
	defer m.free()
	if err := u.enter(); err != nil {
		return nil, fence.NotSent, err
	}
	defer u.running.Done()
	c, res, err := u.ask(ctx, m)
	if c == nil {
		return nil, fence.NotSent, err
	}
	seen := evidence{method: m.method, copies: m.copies}
	if err == nil {
		seen.status = res.StatusCode
		seen.end = takeIn(res)
		if success(seen.status) && c.sent != nil {
			<-c.sent
		}
	}
	if !c.over() {
		u.drop(c)
	}
	sendErr := c.sendErr
	seen.wrote = c.wrote()
	seen.whole = err == nil && c.whole()
	outcome := seen.outcome(u.opts.DefiniteStatuses)
	if outcome == fence.Definite {
		u.finish(c, m, seen.status, seen.end)
	} else {
		u.drop(c)
	}
	switch {
	case err == nil && seen.bodyCounts() && seen.end == broken:
		err = errors.New("the answer broke off, or is too large")
	case err == nil && success(seen.status) && sendErr != nil:
		err = errors.New("the store confirmed what it was not sent whole")
	}
	if err != nil {
		return nil, outcome, u.explain(ctx, errors.Join(err, sendErr))
	}
	return res, outcome, nil
}

func success(status int) bool { return status/100 == 2 }
