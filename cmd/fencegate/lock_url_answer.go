package main

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"fencegate/lockclient"
)

// helperRefusal is what the helper itself answers. It has no X-Fencing-Reason,
// which is the fence's word.
type helperRefusal struct {
	status int
	detail string
}

func (e *helperRefusal) write(w http.ResponseWriter) {
	if e.status == http.StatusProxyAuthRequired {
		w.Header().Set("Proxy-Authenticate", `Basic realm="fencegate lock"`)
	}
	writeProblem(w, e.status, map[string]any{"detail": e.detail})
}

// tellHeld answers whether the lease holds, and whether for all that is below,
// to a fencegate lock within this one.
func (h *helper) tellHeld(w http.ResponseWriter) {
	if err := h.lock.Err(); err != nil {
		(&helperRefusal{http.StatusGone, err.Error()}).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(heldAnswer{Tree: h.lock.Tree()})
}

// heldPath, behind FENCEGATE_URL, answers 200 and a heldAnswer while the lease
// holds.
const heldPath = "/.well-known/fencegate/held"

type heldAnswer struct {
	Tree bool `json:"tree"`
}

// answerError says what became of a request that has no answer of the store:
// again as the fence has said it, for that became an error on the way. sent
// tells that some of it has been sent.
func answerError(w http.ResponseWriter, r *http.Request, err error, sent bool) {
	var fenced *lockclient.FencedError
	var unknown *lockclient.OutcomeUnknownError
	var outside *lockclient.ScopeError
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	switch {
	case errors.As(err, &unknown):
		answerUnknown(w, unknown)
	case errors.As(err, &fenced):
		status := http.StatusConflict
		if fenced.Reason == "stale_token" {
			status = http.StatusPreconditionFailed
		}
		w.Header().Set("X-Fencing-Reason", fenced.Reason)
		w.Header().Set("X-Fencing-Highest", fenced.Highest.String())
		writeProblem(w, status, map[string]any{
			"reason": fenced.Reason, "detail": fenced.Detail, "resource": fenced.Resource.String(), "request_id": fenced.RequestID,
			"token": fenced.Token.String(), "highest": fenced.Highest.String(),
		})
	case errors.As(err, &outside):
		(&helperRefusal{http.StatusForbidden, err.Error() + "."}).write(w)
	case !sent && (errors.Is(err, lockclient.ErrLost) || errors.Is(err, lockclient.ErrReleased)):
		(&helperRefusal{http.StatusPreconditionFailed, err.Error() + ". Nothing was sent."}).write(w)
	case !sent:
		(&helperRefusal{http.StatusBadGateway, "The server cannot be reached, and nothing was sent: " + err.Error() + "."}).write(w)
	case reads:
		(&helperRefusal{http.StatusGatewayTimeout, "The server did not answer: " + err.Error() + "."}).write(w)
	default:
		answerUnknown(w, &lockclient.OutcomeUnknownError{Detail: "It was sent and not answered: " + err.Error() + "."})
	}
}

// answerUnknown is for a write that may or may not take effect.
func answerUnknown(w http.ResponseWriter, e *lockclient.OutcomeUnknownError) {
	w.Header().Set("X-Fencing-Reason", "outcome_unknown")
	after := max(e.RetryAfter, time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	detail := e.Detail
	if e.Token != 0 {
		detail = e.Error()
	}
	writeProblem(w, http.StatusGatewayTimeout, map[string]any{
		"reason": "outcome_unknown", "detail": detail, "request_id": e.RequestID,
	})
}

// writeProblem answers as the fence does, RFC 9457.
func writeProblem(w http.ResponseWriter, status int, members map[string]any) {
	for name, value := range members {
		if value == "" {
			delete(members, name)
		}
	}
	members["title"] = http.StatusText(status)
	members["status"] = status
	text, _ := json.MarshalIndent(members, "", "  ") // strings and a number marshal
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
