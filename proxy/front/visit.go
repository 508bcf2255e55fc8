package front

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"
)

// visit is one request of a connection: its context, and its body. It is used
// again for another one only if nobody can still hold the context for this one.
type visit struct {
	c       *conn
	blank   http.Request // whose context it is
	request http.Request
	body    body

	mu      sync.Mutex
	err     error           // why the context has ended
	asked   context.Context // once somebody has asked for Done; it ends with err
	stop    context.CancelFunc
	reading bool          // from the socket, which tells as well who has left
	watch   chan struct{} // closed when the watch has ended; nil: there is none
	recall  bool          // the watch shall end
}

// newVisit prepares for the next request of a connection.
func (c *conn) newVisit() (*visit, *http.Request) {
	v := c.spare
	if c.spare = nil; v == nil {
		v = &visit{c: c}
		v.blank = *emptyRequest.WithContext(v)
		v.request = v.blank
	}
	r := &v.request
	r.Header, r.URL, r.RemoteAddr = c.head.header, &c.head.url, c.remote
	return v, r
}

var emptyRequest = new(http.Request)

// Deadline implements context.Context.
func (v *visit) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context. It has none, but package context finds there
// what those derived from it are to end with: else it would start a goroutine for
// each, which they would end a while after it.
func (v *visit) Value(key any) any {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked == nil {
		return nil
	}
	return v.asked.Value(key)
}

// Err implements context.Context.
func (v *visit) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// Done implements context.Context. From the first call on the client is watched.
func (v *visit) Done() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked == nil {
		v.asked, v.stop = context.WithCancel(context.Background())
		if v.err != nil {
			v.stop()
		}
	}
	v.look()
	return v.asked.Done()
}

// look starts the watch, if there is somebody to tell. It is called under mu.
func (v *visit) look() {
	if v.asked == nil || v.err != nil || v.reading || v.watch != nil || v.c.raw == nil {
		return
	}
	v.watch = make(chan struct{})
	go v.await(v.watch)
}

// await is the watch.
func (v *visit) await(ended chan struct{}) {
	defer close(ended)
	for {
		left := awaitLeave(v.c.raw)
		v.mu.Lock()
		switch {
		case left:
			v.cancel()
			fallthrough
		case v.recall:
			v.mu.Unlock()
			return
		}
		v.c.readBy.allow() // the deadline was for reading
		v.mu.Unlock()
		if !watches {
			return
		}
	}
}

// cancel ends the context. It is called under mu.
func (v *visit) cancel() {
	if v.err != nil {
		return
	}
	v.err = context.Canceled
	if v.asked != nil {
		v.stop()
	}
}

// unwatch ends the watch. It is called under mu, which it gives up meanwhile.
func (v *visit) unwatch() {
	if v.watch == nil {
		return
	}
	v.recall = true
	v.c.readBy.interrupt()
	ended := v.watch
	v.mu.Unlock()
	<-ended
	v.mu.Lock()
	v.watch, v.recall = nil, false
}

// beforeRead comes before reading from the socket, which one goroutine can do at
// a time.
func (v *visit) beforeRead() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reading = true
	v.unwatch()
}

// afterRead comes after it.
func (v *visit) afterRead(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reading = false
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		v.cancel()
	}
	v.look()
}

// forget makes a visit that has ended ready for the next request, whatever the
// handler did with this one.
func (v *visit) forget() { v.request, v.body = v.blank, body{} }

// end ends the context with the request. It reports whether nobody has waited
// for that, or can wait any more.
func (v *visit) end() (unasked bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked == nil && v.err == nil {
		return true
	}
	v.reading = true // no watch begins any more
	v.unwatch()
	v.cancel()
	return false
}
