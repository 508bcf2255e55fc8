package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
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
	var body io.Reader
	if len(question) > 0 {
		body = bytes.NewBuffer(question)
	}
	m, err := u.message(r, body, int64(len(question)))
	if err != nil {
		return fence.NotSent, err
	}
	defer m.free()
	if err := u.enter(); err != nil {
		return fence.NotSent, err
	}
	defer u.running.Done()
	ctx := r.Context()
	m.end, m.patient = time.Now().Add(u.opts.ReadTimeout), true
	c, res, err := u.ask(ctx, m)
	if err != nil && !time.Now().Before(m.end) {
		err = fmt.Errorf("no answer after %v: %w: %w", u.opts.ReadTimeout, context.DeadlineExceeded, err)
	}
	if c == nil {
		return fence.NotSent, err
	}
	status, end := 0, broken
	defer func() { u.finish(c, m, status, end) }()
	if err != nil {
		sendErr := c.end()
		if !c.wrote() {
			return fence.NotSent, u.explain(ctx, errors.Join(err, sendErr))
		}
		return fence.Uncertain, u.explain(ctx, err)
	}
	c.socket.until(time.Time{}, c.unbind == nil) // the body may take longer
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	if err := c.stream(w, res.Body); err != nil {
		return fence.Definite, u.explain(ctx, err)
	}
	status, end = res.StatusCode, marked // else the store has closed the connection
	return fence.Definite, nil
}

var pieces = sync.Pool{New: func() any {
	b := make([]byte, 32<<10)
	return &b
}}

// stream copies the body of an answer. What the store has sent is not held back
// until there is more.
func (c *conn) stream(w http.ResponseWriter, body io.Reader) error {
	flush := http.NewResponseController(w).Flush
	kept := pieces.Get().(*[]byte)
	defer pieces.Put(kept)
	b := *kept
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
