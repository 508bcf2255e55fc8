package remote

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"strings"
)

// maxAnswer is how much of the answer to a write is kept, in bytes.
const maxAnswer = 8 << 20

// perHop are the response headers that concern one connection only.
var perHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Proxy-Authenticate": true,
}

// trim removes from an answer's header what was for us alone, and what its
// Connection names (RFC 9110 section 7.6.1).
func trim(h http.Header) {
	var named map[string]bool
	if len(h["Connection"]) > 0 {
		named = map[string]bool{}
	}
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			named[http.CanonicalHeaderKey(strings.TrimSpace(option))] = true
		}
	}
	maps.DeleteFunc(h, func(name string, _ []string) bool { return perHop[name] || named[name] })
}

// takeIn reads the body of an answer into memory. Of one that cannot be had
// whole nothing is left, nor of what describes it.
func takeIn(res *http.Response) ending {
	content, err := contentOf(res)
	end := marked
	switch {
	case err != nil || len(content) > maxAnswer:
		end, content = broken, nil
		for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Range", "Content-Type"} {
			res.Header.Del(name)
		}
	case res.ContentLength < 0 && len(res.TransferEncoding) == 0:
		end = closed
	}
	res.Body, res.ContentLength = http.NoBody, int64(len(content))
	if len(content) > 0 {
		res.Body = io.NopCloser(bytes.NewReader(content))
	}
	res.TransferEncoding, res.Trailer = nil, nil
	return end
}

// contentOf reads a body, or more of it than we take.
func contentOf(res *http.Response) ([]byte, error) {
	switch n := res.ContentLength; {
	case res.Body == http.NoBody:
		return nil, nil
	case n > 0 && n <= inputSize: // more is not given memory for its announcement
		content := make([]byte, n)
		_, err := io.ReadFull(res.Body, content)
		return content, err
	}
	return io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
}
