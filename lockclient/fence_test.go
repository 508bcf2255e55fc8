package lockclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"fencegate/fence"
)

// fakeFence judges claims and requests against one mark per resource, as
// fencegate does for equal names. Func fields replace parts of it.
type fakeFence struct {
	*httptest.Server
	beforeClaim func()
	claim       http.HandlerFunc // nil: judge the claim
	serve       http.HandlerFunc // nil: judge the request, then 200

	mu     sync.Mutex
	marks  map[string]fence.Row
	claims []claimRequest
}

func startFence(t *testing.T) *fakeFence {
	f := &fakeFence{marks: map[string]fence.Row{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeFence) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != claimsPath {
		if f.serve != nil {
			f.serve(w, r)
			return
		}
		token, _ := fence.ParseToken(r.Header.Get(headerToken), fence.MaxToken)
		if f.judge(w, r.URL.EscapedPath(), token, fence.Owner(r.Header.Get(headerOwner))) {
			w.WriteHeader(http.StatusOK)
		}
		return
	}
	if f.beforeClaim != nil {
		f.beforeClaim()
	}
	if f.claim != nil {
		f.claim(w, r)
		return
	}
	f.judgeClaim(w, r)
}

func (f *fakeFence) judgeClaim(w http.ResponseWriter, r *http.Request) {
	var c claimRequest
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		refuseWith(w, http.StatusBadRequest, "request_malformed", 0, err.Error())
		return
	}
	f.mu.Lock()
	f.claims = append(f.claims, c)
	f.mu.Unlock()
	token, _ := fence.ParseToken(c.Token, fence.MaxToken)
	names := c.Resources
	if c.Resource != "" {
		names = []string{c.Resource}
	}
	for _, name := range names {
		if !f.judge(w, name, token, fence.Owner(c.Owner)) {
			return
		}
	}
	covers := "object"
	if c.Tree {
		covers = "tree"
	}
	var a claimAnswer
	a.Token = c.Token
	for _, name := range names {
		a.Resources = append(a.Resources, claimedName{name, covers})
	}
	_ = json.NewEncoder(w).Encode(a)
}

func confirm(w http.ResponseWriter, resource, covers, token string) {
	_, _ = fmt.Fprintf(w, `{"resources":[{"resource":%q,"covers":%q}],"token":%q,"ledger":"x"}`, resource, covers, token)
}

func (f *fakeFence) judge(w http.ResponseWriter, path string, token fence.Token, owner fence.Owner) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	mark := f.marks[path]
	switch {
	case token < mark.Token:
		refuseFor(w, path, http.StatusPreconditionFailed, reasonStale, mark.Token, "")
		return false
	case token == mark.Token && owner.Conflicts(mark.Owner):
		refuseFor(w, path, http.StatusConflict, reasonOwnerConflict, mark.Token, "")
		return false
	}
	f.marks[path] = fence.Row{Token: token, Owner: owner}
	return true
}

// raise sets a mark, as an acquisition of another would.
func (f *fakeFence) raise(path string, token fence.Token, owner fence.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks[path] = fence.Row{Token: token, Owner: owner}
}

func (f *fakeFence) mark(path string) fence.Row {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.marks[path]
}

func (f *fakeFence) decode(t *testing.T, r *http.Request) (c claimRequest) {
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil && t != nil {
		t.Errorf("claim: %v", err)
	}
	return c
}

func (f *fakeFence) claimed() []claimRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]claimRequest(nil), f.claims...)
}

func refuseWith(w http.ResponseWriter, status int, reason string, highest fence.Token, detail string) {
	refuseFor(w, "", status, reason, highest, detail)
}

func refuseFor(w http.ResponseWriter, resource string, status int, reason string, highest fence.Token, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set(headerReason, reason)
	if highest > 0 {
		w.Header().Set(headerHighest, highest.String())
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem{Resource: resource, Reason: reason, Highest: highest.String(), Detail: detail, RequestID: "req-7"})
}
