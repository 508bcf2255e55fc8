package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fencegate/lockclient"
)

// putError says what became of a write that has no answer of the store. Until
// all of it was handed over no server has a whole request, and the fence takes
// no part of one.
func putError(ctx context.Context, err error, s *payload, sent bool) attempt {
	var fenced *lockclient.FencedError
	var unknown *lockclient.OutcomeUnknownError
	var outside *lockclient.ScopeError
	answered := errors.As(err, &unknown) && (unknown.Err == nil || unknown.Refused != nil)
	switch {
	case answered, sent && s.isWhole() && !errors.As(err, &fenced) && !errors.As(err, &outside):
		return attempt{code: exitUnknown, err: err}
	case errors.As(err, &fenced):
		return attempt{code: exitLost, err: err}
	case errors.As(err, &outside):
		return attempt{code: exitUsage, err: err}
	case s.failed() != nil:
		return attempt{code: exitNoInput, err: s.failed()}
	case toldCode(ctx) != 0:
		return attempt{code: toldCode(ctx), err: fmt.Errorf("%w; nothing of it took effect", context.Cause(ctx))}
	}
	for _, why := range []error{context.Cause(ctx), err} {
		if errors.Is(why, lockclient.ErrLost) || errors.Is(why, lockclient.ErrReleased) {
			return attempt{code: exitLost, err: fmt.Errorf("%w; nothing of it took effect", why)}
		}
	}
	if unknown != nil {
		err = unknown.Err
	}
	return attempt{code: exitUnavailable, err: fmt.Errorf("the fence has not taken it, nothing took effect: %w", err)}
}

// putAnswer says what an answer means.
func putAnswer(res *http.Response) attempt {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	reason := res.Header.Get("X-Fencing-Reason")
	if reason == "" {
		return storeAnswer(res, text)
	}
	var problem struct{ Detail, Highest string }
	_ = json.Unmarshal(text, &problem) // status and reason decide, the rest explains
	said := reason
	if problem.Highest != "" {
		said += ", the highest token seen is " + problem.Highest
	}
	a := attempt{err: fmt.Errorf("%s: %s", said, problem.Detail)}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		a.after = time.Duration(seconds) * time.Second
	}
	switch status := res.StatusCode; {
	case reason == "outcome_unknown":
		a.code = exitUnknown
	case status == http.StatusServiceUnavailable:
		a.code, a.again = exitHeld, true
	case reason == "stale_token", reason == "owner_conflict", reason == "tree_fenced":
		a.code = exitLost
	case reason == "upstream_unreachable":
		a.code = exitUnavailable
	case reason == "body_too_large", reason == "spool_full", reason == "body_timeout":
		a.code = exitFailed
	case status/100 == 4:
		a.code = exitUsage
	default:
		a.code = exitFailed
	}
	return a
}

// storeAnswer is for an answer of the store itself. As the fence has it, some
// of them do not say whether the write is done.
func storeAnswer(res *http.Response, text []byte) attempt {
	status := res.StatusCode
	if status/100 == 2 && status != http.StatusAccepted {
		return attempt{}
	}
	err := fmt.Errorf("the store answered %s", strings.TrimSpace(res.Status+" "+firstLine(text)))
	switch status {
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusInsufficientStorage:
		return attempt{code: exitFailed, err: err}
	case http.StatusAccepted, http.StatusRequestTimeout, 499:
	default:
		if status/100 == 3 || status/100 == 4 {
			return attempt{code: exitFailed, err: err, noFolder: status == http.StatusConflict}
		}
	}
	return attempt{code: exitUnknown, err: fmt.Errorf("%w: it may or may not have taken effect", err)}
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if len(line) > 200 {
		line = line[:200] + "…"
	}
	return line
}
