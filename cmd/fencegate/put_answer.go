package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fencegate/lockclient"
)

// putFaults is what went wrong with some of several uploads. A nil one is none.
type putFaults struct {
	code   int
	faults []error
}

// severity orders exit codes: the worst of several uploads is told.
var severity = []int{exitFailed, exitNoInput, exitUsage, exitHeld, exitUnavailable, exitUnknown, exitLost}

func (f *putFaults) add(code int, err error) *putFaults {
	if f == nil {
		f = &putFaults{}
	}
	f.faults = append(f.faults, err)
	if slices.Index(severity, code) > slices.Index(severity, f.code) {
		f.code = code
	}
	return f
}

func (f *putFaults) err() error {
	if f == nil {
		return nil
	}
	return &exitError{f.code, errors.Join(f.faults...)}
}

// putErrorCode returns the exit code for a write without an answer.
func putErrorCode(err error) int {
	var fenced *lockclient.FencedError
	var unknown *lockclient.OutcomeUnknownError
	var outside *lockclient.ScopeError
	var dial *net.OpError
	switch {
	case errors.As(err, &unknown):
		return exitUnknown
	case errors.As(err, &fenced), errors.Is(err, lockclient.ErrLost), errors.Is(err, lockclient.ErrReleased):
		return exitLost
	case errors.As(err, &outside):
		return exitUsage
	case errors.As(err, &dial) && dial.Op == "dial":
		return exitUnavailable
	}
	return exitUnknown // it may have been sent
}

// putAnswer says what an answer means.
func putAnswer(res *http.Response) (code int, after time.Duration, err error) {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	reason := res.Header.Get("X-Fencing-Reason")
	if reason == "" {
		if res.StatusCode/100 == 2 && res.StatusCode != http.StatusAccepted {
			return exitOK, 0, nil
		}
		return exitFailed, 0, fmt.Errorf("the store answered %s %s", res.Status, firstLine(text))
	}
	var problem struct{ Detail, Highest string }
	_ = json.Unmarshal(text, &problem) // status and reason decide, the rest explains
	err = fmt.Errorf("%s: %s", reason, problem.Detail)
	if problem.Highest != "" {
		err = fmt.Errorf("%w The highest token seen is %s.", err, problem.Highest)
	}
	if seconds, convErr := strconv.Atoi(res.Header.Get("Retry-After")); convErr == nil {
		after = time.Duration(seconds) * time.Second
	}
	switch {
	case reason == "outcome_unknown":
		return exitUnknown, 0, err
	case res.StatusCode == http.StatusServiceUnavailable:
		return exitHeld, after, err
	case res.StatusCode == http.StatusPreconditionFailed, res.StatusCode == http.StatusConflict:
		return exitLost, 0, err
	case reason == "upstream_unreachable":
		return exitUnavailable, 0, err
	case res.StatusCode/100 == 4:
		return exitUsage, 0, err
	}
	return exitFailed, 0, err
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if len(line) > 200 {
		line = line[:200] + "…"
	}
	return line
}
