package harness

import (
	"net/http"
	"time"
)

// A Plan is what a FakeStore does with one request. The zero value is what an
// ordinary store does: take the body, have the effect, answer 200, 201, 204 or
// 404, keep the connection. The fields are in the order in which they happen.
type Plan struct {
	// First are status lines of informational answers that go out before the
	// body is read: "103 Early Hints".
	First []string
	// WaitBody, if not nil, is waited for before the body is read: it stays in
	// the kernels on the way.
	WaitBody <-chan struct{}
	// Early answers before the body is read, with Status or 413. Unless Close is
	// set, the rest of the request is then received, as far as it comes. It has
	// no effect.
	Early bool
	// CutBody, if above 0, resets the connection when so many bytes of the body
	// have been read. It has no effect and no answer then.
	CutBody int64

	// From here on the request has arrived whole.

	// Drop ends the connection, so that the effect comes after its end.
	Drop Drop
	// UntilGone waits until the other side has ended the connection.
	UntilGone bool
	// Wait, if not nil, is waited for: the test closes it.
	Wait <-chan struct{}
	// Delay passes before the effect.
	Delay time.Duration
	// Settle, if above 0, keeps the store to what a fence relies on, however slow
	// the test is: the effect comes while the connection is there, or less than
	// Settle after it was last seen there, or never. Then there is no answer
	// either.
	Settle time.Duration
	// NoEffect changes nothing, whatever the answer says.
	NoEffect bool
	// Then, if not nil, is called between effect and answer.
	Then func()
	// Lose closes the connection instead of answering.
	Lose bool
	// Never gives no answer, and keeps the connection until the other side
	// ends it.
	Never bool

	// WaitAnswer, if not nil, is waited for between effect and answer.
	WaitAnswer <-chan struct{}
	// Status, if above 0, is answered instead of what happened.
	Status int
	// Header is added to the answer.
	Header http.Header
	// Body, if not "", is the answer's body instead of what a store would say.
	Body string
	// Length, if above 0, is declared instead of the body's.
	Length int64
	// Pace, if above 0, passes after each byte of the answer.
	Pace time.Duration
	// CutAnswer, if above 0, resets the connection after so many bytes of the
	// answer, head included.
	CutAnswer int
	// Close closes the connection after the answer, which did not say so.
	Close bool
}

// Drop is how a store ends a connection.
type Drop uint8

const (
	Keep  Drop = iota // not at all
	FIN               // in order, as a process does that ends
	Reset             // as a crash or a firewall does
)

// Plan has plan decide on each request that Queue leaves to it. It is called
// when the head has been read, by many goroutines; nil is the zero Plan for
// all.
func (s *FakeStore) Plan(plan func(Request) Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// Queue has the next requests with this method and path follow these plans, one
// each.
func (s *FakeStore) Queue(method, path string, plans ...Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := method + " " + path
	s.queues[key] = append(s.queues[key], plans...)
}

// planOf takes the plan for r.
func (s *FakeStore) planOf(r Request) Plan {
	s.mu.Lock()
	key := r.Method + " " + r.Path
	if queue := s.queues[key]; len(queue) > 0 {
		s.queues[key] = queue[1:]
		s.mu.Unlock()
		return queue[0]
	}
	plan := s.plan
	s.mu.Unlock()
	if plan == nil {
		return Plan{}
	}
	return plan(r)
}
