package remote

import (
	"net/http"
	"slices"

	"fencegate/fence"
)

// ending is how the body of an answer ended.
type ending uint8

const (
	// broken: before its end, or larger than we read.
	broken ending = iota
	// closed: with the connection, as when the store dies while it writes.
	closed
	// marked: by its length, its last chunk, or because there is none.
	marked
)

// evidence is what one attempt at a write has shown.
type evidence struct {
	method string
	copies bool   // it has X-Amz-Copy-Source
	wrote  bool   // the kernel took a byte of it
	whole  bool   // it took all of it, before the final answer's first byte came
	status int    // of the final answer; 0: none
	end    ending // of the final answer's body
}

// outcome says what became of the write. Statuses in also are definite too.
func (e evidence) outcome(also []int) fence.Outcome {
	switch {
	case !e.wrote:
		return fence.NotSent
	case !e.whole, e.status == 0, !decided(e.status) && !slices.Contains(also, e.status):
		return fence.Uncertain
	case e.bodyCounts() && e.end != marked:
		return fence.Uncertain
	}
	return fence.Definite
}

// decided reports whether a status says that the store is done with a request.
// 202 promises to act later; 408, 499 and most 5xx come from servers that have
// lost sight of what they, or those behind them, are doing.
func decided(status int) bool {
	switch status {
	case http.StatusAccepted, http.StatusRequestTimeout, 499: // nginx: client closed request
		return false
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusInsufficientStorage:
		return true
	}
	return status >= 200 && status < 500
}

// bodyCounts reports whether the answer's body carries the result: a part of
// the operation may go on, or fail, after the status was sent. Amazon's S3
// starts to answer a copy before it copies; the end of the body is its end.
func (e evidence) bodyCounts() bool {
	switch e.method {
	case "POST", "COPY", "MOVE", "DELETE":
		return true
	}
	return e.status == http.StatusMultiStatus || e.copies
}
