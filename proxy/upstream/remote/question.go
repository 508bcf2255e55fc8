package remote

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// takeQuestion reads the body of a read, so that the store does not wait for a
// slow client and its length is known. Most have none.
func takeQuestion(body io.Reader) ([]byte, error) {
	if body == nil || body == http.NoBody {
		return nil, nil
	}
	kept := pieces.Get().(*[]byte)
	defer pieces.Put(kept)
	n, err := read(body, *kept)
	content := bytes.Clone((*kept)[:n])
	if err == nil {
		var more []byte
		more, err = io.ReadAll(io.LimitReader(body, int64(maxQuestion+1-n)))
		content = append(content, more...)
	} else if err == io.EOF {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("the body of the request: %w", err)
	}
	if len(content) > maxQuestion {
		return nil, fmt.Errorf("the body of a request that only reads has more than %d bytes", maxQuestion)
	}
	return content, nil
}
