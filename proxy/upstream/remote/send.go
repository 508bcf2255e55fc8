package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
)

// ask sends m and returns its final answer, the body of which is still to be
// read from the connection. Without a connection nothing was sent; with one that
// comes with an error, it has been dropped.
//
// There is one attempt. Only a connection that was kept, and turns out to be
// dead before the kernel has taken a byte, is replaced.
func (u *Remote) ask(ctx context.Context, m *message) (*conn, *http.Response, error) {
	for {
		c, err := u.connect(ctx, m)
		if err != nil {
			return nil, nil, err
		}
		if err := m.fill(c.secure == nil); err != nil {
			u.drop(c)
			return nil, nil, u.explain(ctx, bodyError(err))
		}
		res, err := c.ask(m)
		if err == nil {
			return c, res, nil
		}
		u.drop(c)
		if c.wrote() || !c.used || ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return c, nil, err
		}
	}
}

// ask sends m, filled, and returns the final answer. It does not wait until all
// is sent: storage may answer early. What the kernel takes at once is all that
// most requests have.
func (c *conn) ask(m *message) (*http.Response, error) {
	size := m.length()
	n, err := c.begin(m)
	for errors.Is(err, errUnasked) && !c.used && c.secure == nil {
		// A new connection that is refused, as by a store with too many.
		res, receiveErr := c.receive(m.method)
		switch {
		case receiveErr != nil:
			return nil, receiveErr
		case success(res.StatusCode):
			return nil, fmt.Errorf("%w: %q", err, res.Status)
		case res.StatusCode >= 200:
			return res, nil
		}
		n, err = c.begin(m)
	}
	switch {
	case err != nil && !c.wrote():
		return nil, err
	case err != nil:
		c.sendErr = err // there may be an answer nevertheless
	case n == size && m.left == 0:
		m.release() // the answer may take long
	default:
		c.sent = make(chan struct{})
		if m.arrive {
			c.body, _ = m.body.(io.Closer)
		}
		go func() {
			defer close(c.sent)
			c.sendErr = c.send(m, n)
		}()
	}
	for {
		res, err := c.receive(m.method)
		if err != nil || res.StatusCode >= 200 {
			return res, err
		}
	}
}

// begin writes of what m has ready what the kernel takes at once, if the store
// has kept silent until then. Where that is all of m, it gives back m's memory and
// waits for the answer. TLS takes all: it cannot go on later, and what it has fits
// into the kernel.
func (c *conn) begin(m *message) (int, error) {
	switch {
	case c.pending() > 0:
		return 0, errUnasked
	case c.secure == nil && m.left == 0 && canPeek:
		size := m.length()
		room := c.in.room()
		room = room[:min(int64(len(room)), c.headLeft)] // as arrivals
		n, got, err := c.socket.converse(m.buf.b, m.held, room, m)
		if n < size {
			return n, err
		}
		c.headLeft -= int64(got)
		c.in.add(got, err)
		return n, nil
	case c.secure == nil:
		return c.socket.writeNow(m.buf.b)
	case !c.used:
		// What has arrived may be session tickets.
		if n, err := c.under.readNow(c.secure); n > 0 {
			return 0, errUnasked
		} else if !errors.Is(err, errNotNow) {
			return 0, err
		}
	}
	return c.secure.Write(m.buf.b)
}

// send writes all of m but the first n bytes.
func (c *conn) send(m *message, n int) error {
	for _, text := range [...][]byte{m.buf.b, m.held} {
		skip := min(n, len(text))
		n -= skip
		if skip == len(text) {
			continue
		}
		if _, err := c.text.Write(text[skip:]); err != nil {
			return err
		}
	}
	if m.left > 0 && c.secure == nil {
		if err := c.sendFile(m); err != nil {
			return err
		}
	}
	if m.left == 0 {
		return nil
	}
	m.buf.b = slices.Grow(m.buf.b[:0], chunk)
	b := m.buf.b[:chunk]
	for m.left != 0 {
		piece, err := m.next(b)
		if err != nil {
			c.cut() // the store waits for what will not come, and we for it
			return bodyError(err)
		}
		if _, err := c.text.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// sendFile writes of a body that lies in a file what the kernel can send from
// there by itself. What it leaves, for whatever reason, has to be read.
func (c *conn) sendFile(m *message) error {
	section, ok := m.body.(*io.SectionReader)
	if !ok || m.arrive {
		return nil
	}
	outer, start, size := section.Outer()
	file, ok := outer.(*os.File)
	if !ok {
		return nil
	}
	at, err := section.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	n, err := c.socket.sendFile(file, start+at, min(m.left, size-at))
	m.left -= n
	if _, seekErr := section.Seek(n, io.SeekCurrent); seekErr != nil {
		err = errors.Join(err, seekErr)
	}
	return err
}

func bodyError(err error) error { return fmt.Errorf("the body to send: %w", err) }
