package proxy

import (
	"context"
	"io"
	"net/http"

	"fencegate/fence"
)

// Upstream is the store behind the proxy. Its methods are called from many
// goroutines. Requests come with URL, Header and Host as they are to be sent:
// without fencing, hop-by-hop or routing headers.
type Upstream interface {
	// Read answers a request that changes nothing on w. An error while nothing
	// has been written to w means, with NotSent, that the store was not reached,
	// and with any other outcome that it did not answer; after that, that the
	// answer broke off.
	Read(w http.ResponseWriter, r *http.Request) (fence.Outcome, error)

	// Write makes one attempt at a write whose body, of size bytes, has
	// arrived. It never repeats a request of which a byte was sent. The outcome
	// counts whatever else is returned; with Uncertain, everything that could
	// still carry the request has been cut before Write returns. A response
	// comes with its body complete. Where ctx has a method EndsByDeadline, its
	// deadline is its only end, for stores that can watch the clock without Done.
	Write(ctx context.Context, r *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error)
}

// Stager is an Upstream that takes in bodies by itself, next to where they are
// going to be stored.
type Stager interface {
	Upstream

	// Prepare takes in the content of an object, durably but out of sight. Then
	// commit makes it visible, with the results of Write, or abort drops it;
	// one of the two is called, once. With an error neither is. An error of
	// body is found in the returned one by errors.As.
	Prepare(ctx context.Context, r *http.Request, body io.Reader) (
		commit func(context.Context) (*http.Response, fence.Outcome, error), abort func(), err error)
}

// Streamer is an Upstream that can take a body while it arrives.
type Streamer interface {
	Upstream

	// Stream is Write, but the body is still on its way. Reading it may block,
	// and ends with an error soon after ctx does; a body that ends with any
	// error but EOF is cut off, never completed. size −1 means that its length
	// is not known. An answer may come before the body's end: body is also an
	// io.Closer, whose Close ends a Read in progress, so that nobody has to wait
	// for what is not wanted any more. When Stream returns, nothing is read from
	// body or sent any more.
	Stream(ctx context.Context, r *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error)
}

// storeAnswer is an error that the store answers itself (404, 409, 412, 507):
// nothing was changed.
type storeAnswer interface {
	error
	Response() *http.Response
}
