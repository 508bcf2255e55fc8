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
	m, err := u.message(r, body, size)
	if err != nil {
		return nil, fence.NotSent, err
	}
	m.arrive = true
	return u.write(ctx, m)
}
