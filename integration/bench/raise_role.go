package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// raisePath is where GET of a role that raises marks has it do so for a while; the
// answer is the tally as JSON, or 500 and why it is none. passPath has it pass the
// gate some times; the answer is how many allocations one of them costs.
const (
	raisePath = "/raise"
	passPath  = "/pass"
)

// serveRaises lets a raiser be told what to do.
func serveRaises(l net.Listener, on raiser) error {
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		var err error
		if r.URL.Path == passPath {
			answer, err = passAsTold(r.Context(), on, r.URL.Query())
		} else {
			answer, err = raiseAsTold(r.Context(), on, r.URL.Query())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})}
	return server.Serve(l)
}

func raiseAsTold(ctx context.Context, on raiser, told url.Values) (tally, error) {
	callers, err1 := strconv.Atoi(told.Get("callers"))
	marks, err2 := strconv.Atoi(told.Get("marks"))
	duration, err3 := time.ParseDuration(told.Get("for"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return tally{}, err
	}
	if callers < 1 || marks < callers {
		return tally{}, fmt.Errorf("%d callers and %d marks: each caller needs one of its own", callers, marks)
	}
	return raising{callers, marks, duration}.run(ctx, on)
}

func passAsTold(ctx context.Context, on raiser, told url.Values) (float64, error) {
	n, err := strconv.Atoi(told.Get("n"))
	if err != nil {
		return 0, err
	}
	gate, ok := on.(*gateRaiser)
	if !ok || n < 1 {
		return 0, fmt.Errorf("%d passes of a %T: that takes a gate", n, on)
	}
	return gate.allocations(ctx, n)
}

// tellToPass has a role's gate passed n times, and returns the allocations of one.
func tellToPass(ctx context.Context, addr string, n int) (allocations float64, err error) {
	status, body, err := get(ctx, "http://"+addr+passPath+"?n="+strconv.Itoa(n))
	if err != nil {
		return 0, err
	}
	if status != http.StatusOK {
		return 0, wrongError{fmt.Errorf("passes have failed: %s", body)}
	}
	return allocations, json.Unmarshal([]byte(body), &allocations)
}

// tellToRaise has a role raise marks.
func tellToRaise(ctx context.Context, addr string, r raising) (t tally, err error) {
	told := url.Values{"callers": {strconv.Itoa(r.callers)}, "marks": {strconv.Itoa(r.marks)}, "for": {r.duration.String()}}
	status, body, err := get(ctx, "http://"+addr+raisePath+"?"+told.Encode())
	if err != nil {
		return t, err
	}
	if status != http.StatusOK {
		return t, wrongError{fmt.Errorf("raises have failed: %s", body)}
	}
	return parseTally([]byte(body))
}
