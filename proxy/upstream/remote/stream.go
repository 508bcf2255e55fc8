package remote

import (
	"context"
	"errors"
	"io"
	"net/http"

	"fencegate/fence"
)

// Stream is Write for a body that is still arriving. Reading it may block, but
// has to end with an error soon after ctx does. With size -1 the length is not
// known: the body goes out in chunks, the last one only after io.EOF.
//
// A store may be done, or gone, before the body has arrived. Then a body that is
// an io.Closer is closed, which has to end a Read in progress; without, Stream
// waits for the Read.
func (u *Remote) Stream(ctx context.Context, r *http.Request, body io.Reader, size int64) (*http.Response, fence.Outcome, error) {
	if size < -1 {
		return nil, fence.NotSent, errors.New("the body to send has a negative size")
	}
	return u.write(ctx, r, stoppable{body}, size)
}

// stoppable marks the body of Stream: others may be closed by their owners only.
type stoppable struct{ io.Reader }

// Close ends a Read in progress, if the body can.
func (s stoppable) Close() error {
	if c, ok := s.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
