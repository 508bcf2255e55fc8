package proxy

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"fencegate/fence"
)

// want is what an answer is to be. With a reason it is a refusal of ours, and
// everything that makes one is checked; without one it is the store's or a
// success, and must not look like a refusal.
type want struct {
	status   int
	reason   fence.Reason
	resource string
	token    string
	highest  string
	retry    string // Retry-After, "" for none, "≤9" for 1 to 9
	allow    string
	observed fence.Reason
	body     string // of answers that are no refusals, when not ""
	closes   bool
}

type answer struct {
	t      *testing.T
	method string
	*http.Response
	text string
}

// is checks an answer.
func (a *answer) is(to string, w want) {
	a.t.Helper()
	fail := func(what string, got, want any) {
		a.t.Helper()
		a.t.Errorf("%s\nanswer %d %v: %s is %q, want %q\n%s", to, a.StatusCode, a.Header, what, got, want, a.text)
	}
	equal := func(what, got, want string) {
		a.t.Helper()
		if got != want {
			fail(what, got, want)
		}
	}
	if a.StatusCode != w.status {
		fail("the status", strconv.Itoa(a.StatusCode), strconv.Itoa(w.status))
		return // the rest would differ too
	}
	equal(headerReason, a.Header.Get(headerReason), string(w.reason))
	equal(headerHighest, a.Header.Get(headerHighest), w.highest)
	equal(headerObserved, a.Header.Get(headerObserved), string(w.observed))
	equal("Allow", a.Header.Get("Allow"), w.allow)
	a.retries(w.retry, fail)
	if a.Close != w.closes {
		fail("Connection: close", a.Close, w.closes)
	}
	if strings.Contains(a.text, secret) {
		fail("the body", "with an owner", "without")
	}
	if w.reason == "" {
		if w.body != "" {
			equal("the body", a.text, w.body)
		}
		return
	}
	equal("Content-Type", a.Header.Get("Content-Type"), "application/problem+json")
	equal("Cache-Control", a.Header.Get("Cache-Control"), "no-store")
	if a.method == http.MethodHead {
		if a.text != "" || a.ContentLength <= 0 {
			fail("the body of a HEAD", a.text, "")
		}
		return
	}
	a.isProblem(w, equal)
}

func (a *answer) retries(want string, fail func(string, any, any)) {
	got := a.Header.Get("Retry-After")
	limit, ok := strings.CutPrefix(want, "≤")
	if !ok {
		if got != want {
			fail("Retry-After", got, want)
		}
		return
	}
	n, err := strconv.Atoi(got)
	if most, _ := strconv.Atoi(limit); err != nil || n < 1 || n > most {
		fail("Retry-After", got, want)
	}
}

// isProblem checks the body of a refusal.
func (a *answer) isProblem(w want, equal func(what, got, want string)) {
	a.t.Helper()
	var p struct {
		Type, Title, Detail, Reason, Resource, Token, Highest string
		Status                                                int
		RequestID                                             string `json:"request_id"`
		FenceRoot                                             string `json:"fence_root"`
	}
	d := json.NewDecoder(strings.NewReader(a.text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		a.t.Errorf("the body is no problem: %v\n%s", err, a.text)
		return
	}
	equal("type", p.Type, "urn:fencegate:problem:"+string(w.reason))
	equal("title", p.Title, answers[w.reason].title)
	equal("status", strconv.Itoa(p.Status), strconv.Itoa(w.status))
	equal("reason", p.Reason, string(w.reason))
	equal("resource", p.Resource, w.resource)
	equal("token", p.Token, w.token)
	equal("highest", p.Highest, w.highest)
	equal("request_id", p.RequestID, a.Header.Get("X-Request-Id"))
	if p.Title == "" || len(p.Detail) < 20 || p.RequestID == "" {
		a.t.Errorf("title %q, detail %q, request_id %q: each must say something", p.Title, p.Detail, p.RequestID)
	}
}

// Answers that tests want often.
var (
	stored = want{status: http.StatusCreated, body: "stored"}
	read   = want{status: http.StatusOK, body: "content"}
)
