package dir

import (
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"
)

// small is up to how many bytes an object is read, and written to the client, in
// one piece: to let the kernel send a file takes longer than to copy so little.
const small = 32 << 10

// plain reports whether a request is for the object as it is: for no range of
// it, and without a condition.
func plain(h http.Header) bool {
	for _, field := range [...]string{"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		if _, has := h[field]; has {
			return false
		}
	}
	return true
}

// sendWhole answers a plain GET or HEAD of a small object as http.ServeContent
// would, with the body in one piece. It has sent nothing if sent is false: the
// storage failed, or the file is shorter than it was a moment ago.
func sendWhole(w http.ResponseWriter, r *http.Request, n name, o *opened, now *info) (sent bool, err error) {
	buf := buffers.Get().(*[bodyPiece]byte)
	defer buffers.Put(buf)
	body := buf[:now.size]
	if got, err := o.read(body); err != nil || got < len(body) {
		return false, err
	}
	kind := mime.TypeByExtension(path.Ext(n.base))
	if kind == "" {
		kind = http.DetectContentType(body)
	}
	// Set would allocate for each value.
	values := [...]string{now.etag(), now.lastModified(time.Now()), kind, strconv.Itoa(len(body)), "bytes", "nosniff"}
	h := w.Header()
	for i, field := range [...]string{"Etag", "Last-Modified", "Content-Type", "Content-Length", "Accept-Ranges", "X-Content-Type-Options"} {
		h[field] = values[i : i+1 : i+1]
	}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		// The client is gone if this fails, and nobody else wants to know.
		_, _ = w.Write(body)
	}
	return true, nil
}
