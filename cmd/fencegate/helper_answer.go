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

func (e *helperRefusal) Error() string { return e.detail }

func (e *helperRefusal) write(w http.ResponseWriter) {
	if e.status == http.StatusProxyAuthRequired {
		w.Header().Set("Proxy-Authenticate", `Basic realm="fencegate lock"`)
	}
	writeProblem(w, e.status, map[string]any{"detail": e.detail})
}

// answerError says what became of a request that has no answer of the store:
// again as the fence has said it, for that became an error on the way.
func answerError(w http.ResponseWriter, _ *http.Request, err error) {
	var fenced *lockclient.FencedError
	var unknown *lockclient.OutcomeUnknownError
	var outside *lockclient.ScopeError
	switch {
	case errors.As(err, &unknown):
		w.Header().Set("X-Fencing-Reason", "outcome_unknown")
		after := max(unknown.RetryAfter, time.Second)
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
		writeProblem(w, http.StatusGatewayTimeout, map[string]any{
			"reason": "outcome_unknown", "detail": err.Error(), "request_id": unknown.RequestID,
		})
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
		(&helperRefusal{http.StatusForbidden, err.Error() + ". Nothing was sent."}).write(w)
	case errors.Is(err, lockclient.ErrLost), errors.Is(err, lockclient.ErrReleased):
		(&helperRefusal{http.StatusPreconditionFailed, err.Error() + ". Nothing was sent."}).write(w)
	default:
		(&helperRefusal{http.StatusBadGateway, "The fence does not answer: " + err.Error() + "."}).write(w)
	}
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
