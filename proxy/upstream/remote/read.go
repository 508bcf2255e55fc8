package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"fencegate/fence"
)

// maxQuestion is the largest body of a read, in bytes.
const maxQuestion = 1 << 20

// Read asks the store what r asks and streams the answer to w. Of r it takes
// Method, RequestURI, Header, Body, Context and, with HostKeep, Host.
//
// The error comes with NotSent if nothing was sent, with Uncertain if the store
// gave no answer within ReadTimeout, or none that can be understood, and with
// Definite if the answer was begun on w but broke off; then the caller has to
// abort its connection, because w looks as if all were well.
func (u *Remote) Read(w http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
	question, err := takeQuestion(r.Body)
	if err != nil {
		return fence.NotSent, err
	}
	head, err := u.head(r, question.Size())
	if err != nil {
		return fence.NotSent, err
	}
	ctx, cancel, leave, err := u.enter(r.Context())
	if err != nil {
		return fence.NotSent, err
	}
	defer leave()
	patience := time.AfterFunc(u.opts.ReadTimeout, func() {
		cancel(fmt.Errorf("no answer after %v: %w", u.opts.ReadTimeout, context.DeadlineExceeded))
	})
	defer patience.Stop()
	c, err := u.dial(ctx)
	if err != nil {
		return fence.NotSent, err
	}
	defer c.end()
	res, err := c.ask(r.Method, head, question, question.Size())
	if err == nil && !patience.Stop() {
		err = errors.New("the answer came too late")
	}
	if err != nil {
		sendErr := c.end()
		if !c.wrote() {
			return fence.NotSent, u.explain(ctx, errors.Join(err, sendErr))
		}
		return fence.Uncertain, u.explain(ctx, err)
	}
	trim(res.Header)
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	if err := c.stream(w, res.Body); err != nil {
		return fence.Definite, u.explain(ctx, err)
	}
	return fence.Definite, nil
}

// stream copies the body of an answer. What the store has sent is not held back
// until there is more.
func (c *conn) stream(w http.ResponseWriter, body io.Reader) error {
	flush := http.NewResponseController(w).Flush
	b := make([]byte, 32<<10)
	for {
		if c.pending() == 0 {
			if err := flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
		}
		n, err := body.Read(b)
		if n > 0 {
			if _, err := w.Write(b[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the answer broke off: %w", err)
		}
	}
}
