package lockclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestTransportReportsTheFencesAnswers(t *testing.T) {
	isFenced := func(reason string) func(*http.Response, error) bool {
		return func(_ *http.Response, err error) bool {
			var f *FencedError
			return errors.As(err, &f) && f.Reason == reason && f.Highest == 77 && f.RequestID == "req-7"
		}
	}
	passes := func(resp *http.Response, err error) bool { return err == nil && resp != nil }
	for name, tc := range map[string]struct {
		status int
		reason string
		want   func(*http.Response, error) bool
		lost   bool
	}{
		"stale":                {412, "stale_token", isFenced("stale_token"), true},
		"owner conflict":       {409, "owner_conflict", isFenced("owner_conflict"), true},
		"tree fenced":          {409, "tree_fenced", isFenced("tree_fenced"), false},
		"upstream's 412":       {412, "", passes, false},
		"upstream's 409":       {409, "", passes, false},
		"another refusal":      {428, "token_missing", passes, false},
		"stale by another 4xx": {400, "stale_token", passes, false},
		"settling":             {503, "settling", passes, false},
		"upstream's 504":       {504, "", passes, false},
		"read timed out":       {504, "upstream_timeout", passes, false},
		"outcome unknown": {504, "outcome_unknown", func(_ *http.Response, err error) bool {
			var o *OutcomeUnknownError
			return errors.As(err, &o) && o.RetryAfter == 30*time.Second && o.RequestID == "req-7"
		}, false},
	} {
		for _, method := range []string{"PUT", "GET"} {
			t.Run(name+" "+method, func(t *testing.T) {
				l, f, _ := held(t)
				answer := &body{Reader: strings.NewReader(`{"detail":"d","request_id":"req-7"}`)}
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					h := http.Header{"Retry-After": {"30"}}
					if tc.reason != "" {
						h.Set(headerReason, tc.reason)
						h.Set(headerHighest, "77")
					}
					return &http.Response{StatusCode: tc.status, Header: h, Body: answer}, nil
				})
				req, _ := http.NewRequest(method, f.URL+"/r", nil)
				resp, err := l.Transport(base).RoundTrip(req)
				if !tc.want(resp, err) {
					t.Errorf("got %v, %v", resp, err)
				}
				if err != nil != answer.closed.Load() {
					t.Errorf("error %v, body closed %v", err, answer.closed.Load())
				}
				var lost *LostError
				if errors.As(l.Err(), &lost) != tc.lost || tc.lost && lost.Reason != Fenced {
					t.Errorf("the lock says %v", l.Err())
				}
				if resp != nil {
					if data, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(data), "req-7") {
						t.Errorf("body %q, %v", data, err)
					}
					_ = resp.Body.Close()
				}
			})
		}
	}
}

// When an earlier try may have been applied, "stale" does not mean "never took
// effect".
func TestAStaleAnswerAfterAnUnansweredTry(t *testing.T) {
	stale := func() (*http.Response, error) {
		return &http.Response{StatusCode: 412, Header: http.Header{headerReason: {reasonStale}}, Body: http.NoBody}, nil
	}
	status := func(code int, reason string) func() (*http.Response, error) {
		return func() (*http.Response, error) {
			h := http.Header{}
			if reason != "" {
				h.Set(headerReason, reason)
			}
			return &http.Response{StatusCode: code, Header: h, Body: http.NoBody}, nil
		}
	}
	reset := func() (*http.Response, error) { return nil, errors.New("connection reset") }
	for name, tc := range map[string]struct {
		tries   []func() (*http.Response, error)
		path    string
		unknown bool
	}{
		"connection lost":             {[]func() (*http.Response, error){reset}, "/r/x", true},
		"outcome unknown":             {[]func() (*http.Response, error){status(504, reasonUnknown)}, "/r/x", true},
		"unknown, then an error":      {[]func() (*http.Response, error){reset, status(500, "")}, "/r/x", true},
		"answered meanwhile":          {[]func() (*http.Response, error){reset, status(204, "")}, "/r/x", false},
		"an upstream's failure":       {[]func() (*http.Response, error){status(500, "")}, "/r/x", false},
		"another object went missing": {[]func() (*http.Response, error){reset}, "/r/y", false},
	} {
		t.Run(name, func(t *testing.T) {
			l, f, _ := held(t, WithTree())
			script := tc.tries
			rt := l.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
				if len(script) == 0 {
					return stale()
				}
				next := script[0]
				script = script[1:]
				return next()
			}))
			for range tc.tries {
				req, _ := http.NewRequest(http.MethodPut, f.URL+tc.path, nil)
				_, _ = rt.RoundTrip(req)
			}
			req, _ := http.NewRequest(http.MethodPut, f.URL+"/r/x", nil)
			_, err := rt.RoundTrip(req)
			var unknown *OutcomeUnknownError
			var fenced *FencedError
			if errors.As(err, &unknown) != tc.unknown || errors.As(err, &fenced) == tc.unknown {
				t.Errorf("got %v", err)
			}
			if tc.unknown && unknown.Refused == nil {
				t.Error("it does not tell that the lock is fenced")
			}
			// What other calls return must not say that the write never happened.
			if err := l.Unlock(context.Background()); !errors.Is(err, ErrTakenOver) || errors.As(err, new(*FencedError)) {
				t.Errorf("Unlock: %v", err)
			}
		})
	}
}

// net/http sends a request with an Idempotency-Key again when the connection
// breaks: the first one may have been applied.
func TestAResentWriteIsUnknown(t *testing.T) {
	l, f, _ := held(t)
	var n atomic.Int32
	f.serve = func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1: // so that the next request uses a pooled connection
		case 2:
			panic(http.ErrAbortHandler)
		default:
			refuseWith(w, 412, reasonStale, 77, "")
		}
	}
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	client := &http.Client{Transport: l.Transport(base)}
	del := func() error {
		req := must(http.NewRequest(http.MethodDelete, f.URL+"/r", nil))
		req.Header.Set("Idempotency-Key", "1")
		resp, err := client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return err
	}
	if err := del(); err != nil {
		t.Fatal(err)
	}
	err := del()
	var unknown *OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
	if n.Load() != 3 {
		t.Errorf("%d requests, want 3: net/http no longer resends and this test shows nothing", n.Load())
	}
}

// A body is not sent twice, not even where net/http takes the write for
// repeatable: the first one may have been applied.
func TestABodyIsNotResent(t *testing.T) {
	l, f, _ := held(t)
	var n atomic.Int32
	f.serve = func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if n.Add(1) == 2 { // on the connection that the first one has left in the pool
			panic(http.ErrAbortHandler)
		}
	}
	twice := func(wrap func(http.RoundTripper) http.RoundTripper) error {
		n.Store(0)
		base := &http.Transport{}
		defer base.CloseIdleConnections()
		rt := wrap(base)
		if err := put(rt, f.URL+"/r", "Idempotency-Key", "1"); err != nil {
			t.Fatal(err)
		}
		return put(rt, f.URL+"/r", "Idempotency-Key", "1")
	}
	err := twice(l.Transport)
	var unknown *OutcomeUnknownError
	if got := n.Load(); got != 2 || !errors.As(err, &unknown) {
		t.Errorf("%d requests, want 2; %v", got, err)
	}
	err = twice(func(base http.RoundTripper) http.RoundTripper { return base })
	if got := n.Load(); got != 3 || err != nil {
		t.Errorf("%d requests, %v: net/http alone no longer resends and this test shows nothing", got, err)
	}
}

func TestAWriteThatWasNotSentIsNotUnknown(t *testing.T) {
	l, f, _ := held(t)
	f.Close()
	base := &http.Transport{}
	err := put(l.Transport(base), f.URL+"/r")
	var unknown *OutcomeUnknownError
	if err == nil || errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
}
