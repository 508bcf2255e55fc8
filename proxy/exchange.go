package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fencegate/fence"
)

// exchange is one request and its answer, while they last. What most requests
// need is a part of it, since each piece of garbage costs more than what is done
// with it here.
type exchange struct {
	w        http.ResponseWriter
	r        *http.Request
	rc       http.ResponseController
	expects  bool   // the client waits for "100 Continue"
	id       string // once it was asked for
	start    time.Time
	lap      time.Time     // when the last step ended
	shared   bool          // others have the intake
	patience time.Duration // with a client that does not take its answer
	piece    int64         // what a client must take of it in that time
	broken   bool          // the client did not take it, or is gone
	flushed  bool          // the kernel has all of it
	stray    bool          // what follows may be a body without a length
	observed fence.Reason  // what an enforced policy would have answered
	decision decision      // for the metric
	took     *intake       // the body's, once it may be read

	request request
	intake  intake
	staged  staged
	attempt attempt
	out     http.Request // as the store shall see it
	outURL  url.URL
}

func (p *Proxy) newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	x, _ := exchanges.Get().(*exchange)
	if x == nil {
		x = new(exchange)
	}
	now := time.Now()
	x.w, x.r, x.rc, x.expects, x.start, x.lap = w, r, *http.NewResponseController(w), len(r.Header["Expect"]) > 0, now, now
	x.patience, x.piece, x.decision = p.limits.Idle, p.limits.piece(), decisionPassed
	return x
}

// exchanges are those that are over.
var exchanges sync.Pool

// reuse gives the exchange up, if nobody else can still have a part of it: who
// stops an upload, or waits for the end of an attempt, may come late.
func (x *exchange) reuse() {
	if x.shared || x.attempt.asked() {
		return
	}
	*x = exchange{}
	exchanges.Put(x)
}

// since returns how long it is since then, and notes the time for what comes
// next: looking at the clock is not free.
func (x *exchange) since(then time.Time) time.Duration {
	x.lap = time.Now()
	return x.lap.Sub(then)
}

// requestID takes over the client's id if it is fit for logs, so that traces
// join up, and else makes one.
func (x *exchange) requestID() string {
	if x.id != "" {
		return x.id
	}
	x.id = strings.Clone(x.r.Header.Get("X-Request-Id")) // the log keeps it for a while
	if x.id == "" || len(x.id) > 64 || strings.ContainsFunc(x.id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		x.id = fmt.Sprintf("%016x", rand.Uint64())
	}
	return x.id
}

// untilGone is a context that ends when the client leaves; not as long as its
// body has to be read, whose end says more than that.
func (x *exchange) untilGone() context.Context {
	if x.bodyUnread() {
		return context.Background()
	}
	return x.r.Context()
}

// bodyUnread reports whether there may be body left to read.
func (x *exchange) bodyUnread() bool {
	if x.r.ContentLength == 0 || x.r.Body == nil || x.r.Body == http.NoBody {
		return false
	}
	return x.took == nil || !x.took.complete
}

// keeps reports whether the connection can be used again after what is left of
// the body has been read: it is little, is on its way without being asked for,
// and reading it has not failed.
func (x *exchange) keeps() bool {
	if x.took != nil && x.took.started {
		return x.r.ContentLength <= keepUnread && x.took.err == nil
	}
	return x.r.ContentLength <= keepUnread && !x.expects
}
