package remote

import (
	"bytes"
	"fmt"
	"io"
)

// takeQuestion reads the body of a read, so that the store does not wait for a
// slow client and its length is known.
func takeQuestion(body io.Reader) (*bytes.Reader, error) {
	if body == nil {
		return bytes.NewReader(nil), nil
	}
	content, err := io.ReadAll(io.LimitReader(body, maxQuestion+1))
	if err != nil {
		return nil, fmt.Errorf("the body of the request: %w", err)
	}
	if len(content) > maxQuestion {
		return nil, fmt.Errorf("the body of a request that only reads has more than %d bytes", maxQuestion)
	}
	return bytes.NewReader(content), nil
}
